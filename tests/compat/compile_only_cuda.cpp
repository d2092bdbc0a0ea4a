// libtorch's spelling of CUDA streams, events, guards, memory and graphs. It must compile and link, also on a
// machine without CUDA.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/PeerToPeerAccess.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMacros.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/cuda.h>
#include <torch/torch.h>

#include <iostream>

namespace {

void streams() {
  const at::cuda::CUDAStream side = at::cuda::getStreamFromPool(/*isHighPriority=*/false, 0);
  const c10::cuda::CUDAStream main = c10::cuda::getCurrentCUDAStream();
  at::cuda::CUDAEvent event, timed(0u);
  event.record(main);
  event.block(side);
  timed.record();
  timed.synchronize();
  {
    c10::cuda::CUDAStreamGuard guard(side);
    c10::Stream plain = guard.current_stream();
    c10::cuda::OptionalCUDAStreamGuard optional(plain);
    std::cout << plain.id() << side.unwrap().device_index() << optional.original_stream().has_value();
  }
  std::vector<at::cuda::CUDAStream> all{side, main};
  c10::cuda::CUDAMultiStreamGuard several(all);
  c10::cuda::setCurrentCUDAStream(at::cuda::getDefaultCUDAStream());
  side.synchronize();
  CUstream_st* handle = side;
  std::cout << (handle == side.stream()) << event.query() << timed.elapsed_time(timed)
            << (at::cuda::getStreamFromExternal(handle, 0) == side) << side.priority();
}

void switches() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  context.setDeterministicCuDNN(context.deterministicCuDNN() || context.deterministicAlgorithms());
  context.setBenchmarkCuDNN(context.benchmarkCuDNN() && !context.deterministicAlgorithmsWarnOnly());
  context.setAllowTF32CuBLAS(context.allowTF32CuBLAS() || context.allowTF32CuDNN());
  torch::globalContext().setDeterministicAlgorithms(false, false);
  at::globalContext().alertNotDeterministic("scatter");
  std::cout << at::hasCUDA() << at::globalContext().userEnabledCuDNN();
}

void devices() {
  const c10::cuda::CUDAGuard guard(0);
  c10::cuda::OptionalCUDAGuard optional;
  optional.set_index(0);
  const torch::Tensor t = torch::ones({2});
  const c10::OptionalDeviceGuard of_tensor(at::device_of(t));
  const at::DeviceGuard any(t.device());
  const auto* properties = at::cuda::getCurrentDeviceProperties();
  std::cout << properties->multiProcessorCount << properties->name << at::cuda::warp_size()
            << at::cuda::canDeviceAccessPeer(0, 0) << at::cuda::get_p2p_access(0, 0) << at::cuda::getNumGPUs()
            << c10::cuda::ExchangeDevice(0) << static_cast<int>(c10::cuda::current_device());
  c10::cuda::set_device(0);
  c10::cuda::device_synchronize();
  torch::cuda::synchronize();
}

void memory() {
  void* data = c10::cuda::CUDACachingAllocator::raw_alloc(100);
  c10::cuda::CUDACachingAllocator::recordStream(data, at::cuda::getCurrentCUDAStream());
  c10::cuda::CUDACachingAllocator::raw_delete(data);
  const c10::cuda::CUDACachingAllocator::DeviceStats stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  using c10::cuda::CUDACachingAllocator::StatType;
  std::cout << stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak << stats.num_ooms
            << c10::cuda::CUDACachingAllocator::snapshot().segments.size();
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
  c10::cuda::CUDACachingAllocator::emptyCache();
}

void random_and_graphs() {
  torch::cuda::manual_seed_all(1);
  at::Generator g = at::cuda::detail::createCUDAGenerator(0);
  g.set_current_seed(3);
  std::cout << at::cuda::detail::getDefaultCUDAGenerator().current_seed()
            << g.get<at::CUDAGeneratorImpl>()->philox_offset_per_thread();
  at::cuda::CUDAGraph graph;
  c10::cuda::CUDAStreamGuard guard(at::cuda::getStreamFromPool());
  graph.capture_begin();
  graph.capture_end();
  graph.capture_begin(at::cuda::graph_pool_handle());
  graph.capture_end();
  graph.replay();
  graph.reset();
}

}  // namespace

void compile_only_cuda() {
  std::cout << torch::cuda::is_available() << torch::cuda::device_count() << torch::cuda::cudnn_is_available();
  switches();
  if (!torch::cuda::is_available()) return;
  devices();
  streams();
  memory();
  if (torch::cuda::device_count() > 100) random_and_graphs();
}
