# What Gradus is built from; each missing piece is named with its Debian package.
function(gradus_need what package found)
  if(NOT found)
    message(FATAL_ERROR "Gradus needs ${what}, which was not found. On Debian: apt-get install ${package}")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS CXX)
gradus_need("OpenMP" "g++" "${OpenMP_CXX_FOUND}")
find_path(GRADUS_HWY_INCLUDE hwy/highway.h)  # headers only: kernels/cpu/simd_targets.cpp has the rest
gradus_need("Google Highway" "libhwy-dev" "${GRADUS_HWY_INCLUDE}")
find_path(GRADUS_DNNL_INCLUDE dnnl.hpp)
find_library(GRADUS_DNNL_LIBRARY dnnl)
gradus_need("oneDNN" "libdnnl-dev" "${GRADUS_DNNL_LIBRARY}")
find_path(GRADUS_JSON_INCLUDE nlohmann/json.hpp)
gradus_need("nlohmann-json" "nlohmann-json3-dev" "${GRADUS_JSON_INCLUDE}")
find_path(GRADUS_ZLIB_INCLUDE zlib.h)
find_library(GRADUS_ZLIB_LIBRARY z)
gradus_need("zlib" "zlib1g-dev" "${GRADUS_ZLIB_LIBRARY}")

set(gradus_private_libraries OpenMP::OpenMP_CXX Threads::Threads ${GRADUS_DNNL_LIBRARY} ${GRADUS_ZLIB_LIBRARY} ${CMAKE_DL_LIBS})
