// Note [Captured memory and draws]: a replay repeats kernels with the addresses they were captured with. What they
// allocated therefore stays the graph's (allocator.h), and the seed and offset of random draws come from two numbers on
// the device that are the graph's, too: before each replay they are set to where the generator is, and the generator
// moves on by what one replay draws.
#include "graph.h"

#include <algorithm>
#include <vector>

#include <gradus/cuda/generator.h>

#include "allocator.h"
#include "host_allocator.h"
#include "streams.h"

namespace gradus::inline v0::cuda::runtime {

constinit std::atomic<int> captures_under_way{0};

namespace {

class CudaGraph final : public GraphImpl {
 public:
  ~CudaGraph() override {
    try {
      reset();
    } catch (...) {
      // The process ends, or the context is lost.
    }
  }

  void capture_begin(PoolId pool, int mode) override {
    GRADUS_CHECK(!executable_ && !capturing_,
                 "CUDAGraph::capture_begin: this graph holds a capture already; expected a "
                 "new one, or reset() first");
    const Context& c = kernels::cuda::context();
    GRADUS_CHECK(c.stream != nullptr, "CUDAGraph::capture_begin: the current stream of cuda:", c.device,
                 " is the default one, which cannot be captured; make another one current (CUDAStreamGuard)");
    device_ = c.device;
    stream_ = c.stream;
    pool_ = pool == PoolId() ? new_graph_pool() : pool;
    register_generator(default_generator(Device(DeviceType::CUDA, static_cast<DeviceIndex>(device_))));
    for (Drawing& d : drawings_) {
      if (!d.numbers) d.numbers = static_cast<int64_t*>(allocator_of(device_).allocate(2 * sizeof(int64_t), stream_));
    }
    size_t begun = 0;
    try {
      for (; begun < drawings_.size(); ++begun) {
        const Drawing& d = drawings_[begun];
        const std::lock_guard lock(d.generator.mutex());
        d.impl().begin_capture(d.numbers, d.numbers + 1);
      }
      captures_under_way.fetch_add(1);
      capturing_ = true;
      check(cudaStreamBeginCapture(stream_, static_cast<cudaStreamCaptureMode>(mode)), "cudaStreamBeginCapture");
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      check(cudaStreamGetCaptureInfo(stream_, &status, &capture_), "cudaStreamGetCaptureInfo");
      allocator_of(device_).begin_capture(capture_, pool_);
      holds_pool_ = true;
    } catch (...) {
      end_draws(begun);
      end_capture_state();
      throw;
    }
  }

  void capture_end() override {
    GRADUS_CHECK(capturing_, "CUDAGraph::capture_end: no capture is under way; expected one that capture_begin began");
    const Context& c = kernels::cuda::context();
    GRADUS_CHECK(c.stream == stream_,
                 "CUDAGraph::capture_end: the current stream is not the one that capture_begin was "
                 "called with");
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    allocator_of(device_).end_capture(capture_);
    end_draws(drawings_.size());
    end_capture_state();
    check(error, "cudaStreamEndCapture");
    GRADUS_CHECK(graph != nullptr,
                 "CUDAGraph::capture_end: the capture was broken by an earlier error; expected none "
                 "between capture_begin and capture_end");
    size_t nodes = 0;
    if (cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess && nodes == 0) {
      warn("CUDAGraph::capture_end: the graph is empty; the work may have gone to another stream or device");
    }
    const cudaError_t instantiated = cudaGraphInstantiateWithFlags(&executable_, graph, 0);
    const cudaError_t destroyed = cudaGraphDestroy(graph);
    check(instantiated, "cudaGraphInstantiateWithFlags");
    check(destroyed, "cudaGraphDestroy");
  }

  void replay() override {
    GRADUS_CHECK(executable_,
                 "CUDAGraph::replay: the graph is empty; expected capture_begin, work and capture_end first");
    const RuntimeDevice scope(device_);
    const cudaStream_t stream = context_of(device_).stream;
    for (const Drawing& d : drawings_) {
      if (d.draws != 0) position(d, stream);
    }
    check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
  }

  void reset() override {
    if (capturing_) {
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) cudaGetLastError();
      if (graph) cudaGraphDestroy(graph);
      allocator_of(device_).end_capture(capture_);
      end_draws(drawings_.size());
      end_capture_state();
    }
    if (executable_) {
      cudaGraphExecDestroy(executable_);
      executable_ = nullptr;
    }
    if (holds_pool_) {
      allocator_of(device_).release_pool(pool_);
      holds_pool_ = false;
    }
    for (const Drawing& d : drawings_) {
      if (d.numbers) deallocate_anywhere(d.numbers);
    }
    drawings_.clear();
  }

  PoolId pool() const override {
    GRADUS_CHECK(holds_pool_, "CUDAGraph::pool: nothing has been captured; expected capture_begin first");
    return pool_;
  }

  void register_generator(const Generator& generator) override {
    GRADUS_CHECK(!capturing_ && !executable_, "CUDAGraph::register_generator_state: the graph is captured already");
    GRADUS_CHECK_AS(TypeError, generator.defined() && generator.device().is_cuda(),
                    "CUDAGraph::register_generator_state: expected a CUDA generator");
    const bool known =
        std::any_of(drawings_.begin(), drawings_.end(), [&](auto& d) { return d.generator == generator; });
    if (!known) drawings_.push_back({generator, nullptr, 0});
  }

 private:
  struct Drawing {
    Generator generator;
    int64_t* numbers;  // seed and offset, on the device
    uint64_t draws;    // of one replay
    CUDAGeneratorImpl& impl() const { return *generator.get<CUDAGeneratorImpl>(); }
  };

  void end_draws(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::lock_guard lock(drawings_[i].generator.mutex());
      drawings_[i].draws = drawings_[i].impl().end_capture();
    }
  }
  void end_capture_state() {
    if (capturing_) captures_under_way.fetch_sub(1);
    capturing_ = false;
  }

  void position(const Drawing& d, cudaStream_t stream) const {
    auto* staged = static_cast<int64_t*>(allocate_pinned(2 * sizeof(int64_t)));
    {
      const std::lock_guard lock(d.generator.mutex());
      staged[0] = static_cast<int64_t>(d.impl().current_seed());
      staged[1] = static_cast<int64_t>(d.impl().get_offset());
      d.impl().set_offset(d.impl().get_offset() + d.draws);
    }
    const cudaError_t error = cudaMemcpyAsync(d.numbers, staged, 2 * sizeof(int64_t), cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess) use_pinned(staged, device_, stream);
    free_pinned(staged);
    check(error, "CUDAGraph::replay");
  }

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  PoolId pool_;
  bool holds_pool_ = false;
  bool capturing_ = false;
  unsigned long long capture_ = 0;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<Drawing> drawings_;
};

}  // namespace

std::unique_ptr<GraphImpl> make_graph() {
  return std::make_unique<CudaGraph>();
}

PoolId new_graph_pool() {
  static std::atomic<uint64_t> count{0};
  return {0, ++count};
}

}  // namespace gradus::inline v0::cuda::runtime
