#include <src/backends/cudnn/convolution.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <gradus/core/determinism.h>
#include <gradus/cuda/backends.h>

#include <kernels/cuda/launch.h>
#include <kernels/cuda/scratch.h>
#include <src/backends/cudnn/library.h>
#include <src/cuda/library_versions.h>

namespace gradus::inline v0::backends::cudnn {

// Note [cuDNN's graph interface]
// cuDNN 9 has two: functions for convolutions, which are deprecated and reach the kernels of older devices alone, and
// graphs, of which one of a single operation is built here for each shape. It is asked for engines, best first; an
// engine's numerical notes say whether it is deterministic and uses tensor cores; its plan knows the workspace that it
// needs. The graph's tensors have strides, so that both layouts are one case, and numbers of groups follow from
// channels.

namespace {

using kernels::cuda::Context;
using kernels::cuda::Scratch;

constexpr int64_t kInputId = 'x', kWeightId = 'w', kOutputId = 'y';
constexpr int kMostDims = 5;

/// All that a plan depends on, in whole words: compared and hashed as such.
struct Key {
  std::array<int64_t, 25> words;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (const int64_t w : key.words) {
      h = (h ^ static_cast<uint64_t>(w)) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return h;
  }
};

struct Problem {
  Direction direction;
  ConvolutionShape shape;
  Operands operands;
  int device;
  bool benchmark, deterministic, allow_tf32;
};

std::string describe(const void* problem) {
  const Problem& p = *static_cast<const Problem*>(problem);
  const ConvolutionShape& s = p.shape;
  const auto numbers = [&](const int64_t* v) {
    std::string text;
    for (int64_t i = 0; i < s.spatial; ++i) text += str(i ? ", " : "", v[i]);
    return text;
  };
  static constexpr const char* kNames[] = {"the output", "the input's gradient", "the weight's gradient"};
  return str(kNames[static_cast<int>(p.direction)], " of input [", s.batch, ", ", s.in_channels, ", ", numbers(s.in),
             "], weight [", s.out_channels, ", ", s.in_channels / s.groups, ", ", numbers(s.kernel), "], output [",
             s.batch, ", ", s.out_channels, ", ", numbers(s.out), "], stride (", numbers(s.stride), "), padding (",
             numbers(s.padding), "), dilation (", numbers(s.dilation), "), groups ", s.groups, " of ", s.dtype,
             s.channels_last ? ", channels last" : "", ", on cuda:", p.device);
}

/// The largest power of two that divides the address; more than 16 makes no difference.
int64_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return address % 16 == 0 ? 16 : static_cast<int64_t>(address & (~address + 1));
}

Key make_key(const Problem& p) {
  const ConvolutionShape& s = p.shape;
  Key key{};
  int64_t* w = key.words.data();
  for (const int64_t v : {s.batch, s.in_channels, s.out_channels, s.groups, s.spatial}) *w++ = v;
  for (const int64_t* v : {s.in, s.out, s.kernel, s.stride, s.padding, s.dilation}) w = std::copy_n(v, s.spatial, w);
  key.words[23] = alignment_of(p.operands.input) | alignment_of(p.operands.weight) << 8 |
                  alignment_of(p.operands.output) << 16 | int64_t{p.device} << 24;
  key.words[24] = static_cast<int64_t>(s.dtype) | int64_t{static_cast<uint8_t>(p.direction)} << 8 |
                  int64_t{s.channels_last} << 16 | int64_t{p.benchmark} << 17 | int64_t{p.deterministic} << 18 |
                  int64_t{p.allow_tf32} << 19;
  return key;
}

cudnnDataType_t data_type(ScalarType t) {
  return t == ScalarType::Double     ? CUDNN_DATA_DOUBLE
         : t == ScalarType::Half     ? CUDNN_DATA_HALF
         : t == ScalarType::BFloat16 ? CUDNN_DATA_BFLOAT16
                                     : CUDNN_DATA_FLOAT;
}

Descriptor tensor(const ConvolutionShape& s, int64_t id, const void* data, int64_t first, int64_t second,
                  const int64_t* rest) {
  const auto ndim = static_cast<int>(s.spatial) + 2;
  int64_t sizes[kMostDims] = {first, second}, strides[kMostDims], step = 1;
  std::copy_n(rest, s.spatial, sizes + 2);
  if (s.channels_last) strides[1] = 1, step = second;
  for (int d = ndim - 1; d >= 2; --d) strides[d] = step, step *= sizes[d];
  if (!s.channels_last) strides[1] = step, step *= second;
  strides[0] = step;
  const cudnnDataType_t type = data_type(s.dtype);
  Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, ndim, sizes);
  t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, ndim, strides);
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment_of(data));
  t.finalize();
  return t;
}

Descriptor geometry(const ConvolutionShape& s) {
  const cudnnDataType_t compute = s.dtype == ScalarType::Double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  Descriptor g(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  g.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  g.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  g.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, s.spatial);
  g.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, s.spatial, s.padding);
  g.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, s.spatial, s.padding);
  g.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, s.spatial, s.dilation);
  g.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, s.spatial, s.stride);
  g.finalize();
  return g;
}

/// The names of an operation's attributes in each direction.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, geometry, weight, input, output;
};
constexpr OperationNames kOperations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

/// A problem's graph, and what it was made of.
struct Graph {
  Descriptor input, weight, output, geometry, operation, graph;

  Graph(const Problem& p, cudnnHandle_t handle) {
    const ConvolutionShape& s = p.shape;
    input = tensor(s, kInputId, p.operands.input, s.batch, s.in_channels, s.in);
    weight = tensor(s, kWeightId, p.operands.weight, s.out_channels, s.in_channels / s.groups, s.kernel);
    output = tensor(s, kOutputId, p.operands.output, s.batch, s.out_channels, s.out);
    geometry = cudnn::geometry(s);
    const OperationNames& names = kOperations[static_cast<int>(p.direction)];
    operation = Descriptor(names.type);
    if (s.dtype == ScalarType::Double) {
      const double one = 1, zero = 0;
      operation.set(names.alpha, CUDNN_TYPE_DOUBLE, 1, &one);
      operation.set(names.beta, CUDNN_TYPE_DOUBLE, 1, &zero);
    } else {
      const float one = 1, zero = 0;
      operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
      operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
    }
    operation.set(names.geometry, geometry);
    operation.set(names.weight, weight);
    operation.set(names.input, input);
    operation.set(names.output, output);
    operation.finalize();
    graph = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph.finalize();
  }
};

/// One way to compute a problem. Its plan is made when it is its turn.
struct Candidate {
  Descriptor configuration, plan;
  int64_t workspace = 0;
  bool made = false, refused = false;
};

/// Whether an engine may be used under the switches.
bool allowed(const Problem& p, const Descriptor& configuration) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place);
  cudnnBackendNumericalNote_t notes[16];
  const int64_t there = engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 16, notes);
  auto* const end = notes + std::min<int64_t>(there, 16);
  const auto has = [&](cudnnBackendNumericalNote_t note) { return std::find(notes, end, note) != end; };
  if (p.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (p.shape.dtype == ScalarType::Half || p.shape.dtype == ScalarType::BFloat16) return true;
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  // Floats on tensor cores are TF32.
  return p.shape.dtype != ScalarType::Float || p.allow_tf32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

/// What is known about a problem. One thread at a time uses it, also while it runs a plan: cuDNN does not promise that
/// two may.
struct Entry {
  std::mutex mutex;
  std::unique_ptr<Graph> graph;
  std::vector<Candidate> candidates;
  bool listed = false, benchmarked = false;

  /// Asks for the candidates. There are none where cuDNN refuses the graph itself.
  void list(const Problem& p, cudnnHandle_t handle) {
    candidates.clear();
    try {
      graph = std::make_unique<Graph>(p, handle);
      for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) list(p, mode);
    } catch (const Refusal&) {
    }
    listed = true;
  }

  void list(const Problem& p, cudnnBackendHeurMode_t mode) {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    heuristic.finalize();
    const int64_t count = heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<Descriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> places;
    for (int64_t i = 0; i < count; ++i) {
      places.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
    }
    const int64_t filled =
        heuristic.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, places.data());
    for (int64_t i = 0; i < std::min(count, filled); ++i) {
      Descriptor& c = configurations[static_cast<size_t>(i)];
      if (allowed(p, c)) candidates.push_back({std::move(c), Descriptor(), 0, false, false});
    }
  }

  /// Makes the candidate's plan; false where cuDNN cannot.
  bool prepare(Candidate& c, cudnnHandle_t handle) {
    if (c.made || c.refused) return c.made;
    c.plan = Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    c.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
    c.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, c.configuration);
    c.made = c.plan.try_finalize() == CUDNN_STATUS_SUCCESS;
    c.refused = !c.made;
    if (c.made) c.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &c.workspace);
    return c.made;
  }
};

std::shared_ptr<Entry> entry_of(const Problem& p) {
  static auto& mutex = *new std::mutex;
  static auto& entries = *new std::unordered_map<Key, std::shared_ptr<Entry>, KeyHash>;
  constexpr size_t kMost = 4096;
  const Key key = make_key(p);
  const std::lock_guard lock(mutex);
  if (const auto it = entries.find(key); it != entries.end()) return it->second;
  if (entries.size() >= kMost) entries.clear();
  return entries[key] = std::make_shared<Entry>();
}

cudnnStatus_t execute(const Problem& p, const Candidate& c, cudnnHandle_t handle, void* workspace) {
  const int64_t ids[] = {kInputId, kWeightId, kOutputId};
  void* const pointers[] = {p.operands.input, p.operands.weight, p.operands.output};
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return library().execute(handle, c.plan.get(), pack.get());
}

/// Workspaces up to a quarter of the device's memory.
int64_t workspace_limit(int device) {
  static auto& limits = *new std::array<std::atomic<int64_t>, 128>;
  std::atomic<int64_t>& limit = limits.at(static_cast<size_t>(device));
  if (const int64_t known = limit.load(std::memory_order_relaxed)) return known;
  size_t free = 0, total = 0;
  kernels::cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  limit.store(static_cast<int64_t>(total / 4), std::memory_order_relaxed);
  return static_cast<int64_t>(total / 4);
}

class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    kernels::cuda::check(cudaEventCreate(&begin_), "cudaEventCreate");
    kernels::cuda::check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  void begin() { kernels::cuda::check(cudaEventRecord(begin_, stream_), "cudaEventRecord"); }
  float end() {
    float milliseconds = 0;
    kernels::cuda::check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    kernels::cuda::check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    kernels::cuda::check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Times the first candidates and puts them in that order, those that cannot run last. What they compute is right, so
/// that the operands may be the caller's.
void benchmark(const Problem& p, Entry& entry, cudnnHandle_t handle, const Context& where) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  kernels::cuda::check(cudaStreamIsCapturing(where.stream, &capturing), "cudaStreamIsCapturing");
  if (capturing != cudaStreamCaptureStatusNone) return;  // nothing can be timed now
  constexpr int kRuns = 3;                               // after one that loads the kernels
  const int limit = gradus::cuda::get_cudnn_benchmark_limit();
  struct Timed {
    float milliseconds;
    size_t which;
  };
  std::vector<Timed> times;
  int tried = 0;
  Timer timer(where.stream);
  for (size_t i = 0; i < entry.candidates.size(); ++i) {
    constexpr float kNever = 1e30f;
    times.push_back({kNever, i});
    Candidate& c = entry.candidates[i];
    if ((limit > 0 && tried >= limit) || !entry.prepare(c, handle) || c.workspace > workspace_limit(p.device)) continue;
    ++tried;
    try {
      const Scratch workspace(static_cast<size_t>(c.workspace));
      for (int run = 0; run <= kRuns && !c.refused; ++run) {
        timer.begin();
        c.refused = execute(p, c, handle, workspace.as<void>()) != CUDNN_STATUS_SUCCESS;
        const float time = timer.end();
        if (run > 0 && !c.refused) times.back().milliseconds = std::min(times.back().milliseconds, time);
      }
      if (c.refused) c.made = false, times.back().milliseconds = kNever;
    } catch (const OutOfMemoryError&) {  // not now
    }
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const Timed& a, const Timed& b) { return a.milliseconds < b.milliseconds; });
  std::vector<Candidate> sorted;
  for (const Timed& t : times) sorted.push_back(std::move(entry.candidates[t.which]));
  entry.candidates = std::move(sorted);
  entry.benchmarked = true;
}

}  // namespace

bool convolution(Direction direction, const ConvolutionShape& shape, const Operands& operands) {
  const Context& where = kernels::cuda::context();
  const bool same_each_run = are_deterministic_algorithms_enabled();
  const Problem p{direction, shape, operands, where.device,
                  // What is fastest differs from run to run, and with it the order of the sums.
                  gradus::cuda::get_cudnn_benchmark() && !same_each_run,
                  gradus::cuda::get_cudnn_deterministic() || same_each_run, gradus::cuda::get_cudnn_allow_tf32()};
  const Doing doing(&describe, &p);
  const Handle handle(where.device, where.stream);
  const std::shared_ptr<Entry> entry = entry_of(p);
  const std::lock_guard lock(entry->mutex);
  if (!entry->listed) entry->list(p, handle.get());
  if (p.benchmark && !entry->benchmarked) benchmark(p, *entry, handle.get(), where);
  int64_t limit = workspace_limit(where.device);
  std::exception_ptr out_of_memory;
  for (Candidate& c : entry->candidates) {
    if (!entry->prepare(c, handle.get()) || c.workspace > limit) continue;
    Scratch workspace;
    try {
      workspace = Scratch(static_cast<size_t>(c.workspace));
    } catch (const OutOfMemoryError&) {
      out_of_memory = std::current_exception();
      limit = c.workspace - 1;  // slower, with less
      continue;
    }
    const cudnnStatus_t status = execute(p, c, handle.get(), workspace.as<void>());
    if (is_refusal(status)) {
      c.made = false, c.refused = true;
      continue;
    }
    check(status, "cudnnBackendExecute");
    kernels::cuda::launched(where, "cudnnBackendExecute");
    return true;
  }
  if (out_of_memory) std::rethrow_exception(out_of_memory);
  return false;
}

int64_t version() noexcept {
  try {
    return static_cast<int64_t>(library().get_version());
  } catch (const std::exception&) {
    return 0;
  }
}

namespace {
[[maybe_unused]] const bool version_is_known = (gradus::cuda::library_version_of_cudnn = &version, true);
}  // namespace

}  // namespace gradus::inline v0::backends::cudnn
