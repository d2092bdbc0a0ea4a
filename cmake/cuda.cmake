# libgradus_cuda.so: the kernels of kernels/cuda and what runs them. Built by nvcc where GRADUS_CUDA is on, and by the C++
# compiler against tests/cuda_emulation for the tests. The sources are the same.
set(gradus_cuda_sources)
foreach(list kernels/cuda src/cuda/runtime src/backends/cublas src/backends/cudnn)
  include(${PROJECT_SOURCE_DIR}/${list}/sources.cmake OPTIONAL)
endforeach()
set(gradus_cuda_kernels ${gradus_cuda_kernel_sources})
set(gradus_cuda_host ${gradus_cuda_runtime_sources} ${gradus_cuda_blas_sources} ${gradus_cuda_dnn_sources})
list(TRANSFORM gradus_cuda_kernels PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM gradus_cuda_host PREPEND ${PROJECT_SOURCE_DIR}/)

# What both builds of the library share.
function(gradus_cuda_library target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME gradus_cuda CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE gradus)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)  # its functions stand in libgradus.so's kernel tables
endfunction()

if(GRADUS_CUDA)
  set(gradus_cuda_architectures 80-real 90-real 90-virtual)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(gradus_cuda_architectures ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12.2 REQUIRED)
  add_library(gradus_cuda SHARED ${gradus_cuda_kernels} ${gradus_cuda_host})
  gradus_cuda_library(gradus_cuda)
  set_target_properties(gradus_cuda PROPERTIES CUDA_VISIBILITY_PRESET hidden CUDA_EXTENSIONS OFF
                                               CUDA_ARCHITECTURES "${gradus_cuda_architectures}" VERSION ${PROJECT_VERSION}
                                               SOVERSION 0 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_compile_options(gradus_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xfatbin=-compress-all>
                                             $<$<COMPILE_LANGUAGE:CXX>:${gradus_warnings}>)
  option(GRADUS_CUDA_RESOURCES "Keep what ptxas reports of each kernel, for tests/cuda/resources.py" OFF)
  if(GRADUS_CUDA_RESOURCES)
    target_compile_options(gradus_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
    set_target_properties(gradus_cuda PROPERTIES CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/ptxas_log.sh)
  endif()
  target_include_directories(gradus_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(gradus_cuda PRIVATE CUDA::cudart CUDA::cublasLt ${CMAKE_DL_LIBS})
endif()
