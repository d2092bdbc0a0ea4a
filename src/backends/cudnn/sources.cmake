# Convolutions in libgradus_cuda.so: C++20 that g++ compiles against CUDA's and cuDNN's headers or the emulation's. Paths
# are relative to the repository's root. cuDNN is not linked (Note [Loading cuDNN] in library.cpp), only ${CMAKE_DL_LIBS}.
set(gradus_cuda_dnn_sources
    kernels/cuda/convolution.cpp
    src/backends/cudnn/convolution.cpp
    src/backends/cudnn/library.cpp)
