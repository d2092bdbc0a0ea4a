# The host side of libgradus_cuda.so. It is C++20 without a kernel: g++ compiles it, against CUDA's headers or the
# emulation's. Paths are relative to the repository's root.
set(gradus_cuda_runtime_sources
    src/cuda/runtime/allocator.cpp
    src/cuda/runtime/allocator_config.cpp
    src/cuda/runtime/allocator_direct.cpp
    src/cuda/runtime/allocator_expandable.cpp
    src/cuda/runtime/allocator_report.cpp
    src/cuda/runtime/blocks.cpp
    src/cuda/runtime/copy.cpp
    src/cuda/runtime/device.cpp
    src/cuda/runtime/errors.cpp
    src/cuda/runtime/expandable.cpp
    src/cuda/runtime/generators.cpp
    src/cuda/runtime/graph.cpp
    src/cuda/runtime/host_allocator.cpp
    src/cuda/runtime/library_versions.cpp
    src/cuda/runtime/runtime.cpp
    src/cuda/runtime/streams.cpp)
