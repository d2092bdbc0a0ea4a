// cuDNN's graph interface for builds without a GPU: keeps every attribute that is set, refuses what the real library
// refuses (attributes of the wrong type, missing or unknown ones, sizes that do not fit, descriptors that are not
// finalized or already destroyed, a handle or plan that two threads use at once) and computes plainly, in the handle's
// stream. libraries.h lists its engines.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <cudnn.h>

#include "cudnn_convolution.h"
#include "libraries.h"
#include "library_support.h"

struct cudnnContext {
  uint64_t magic;
  cudaStream_t stream;
  std::atomic<bool> busy;
};

namespace gradus_emulation::cudnn {

State& state() {
  static State& instance = *new State;
  return instance;
}

namespace {

constexpr uint64_t kHandle = 0x63756468616e646c;

thread_local std::string last_error;
cudnnStatus_t refuse(cudnnStatus_t status, const std::string& why) {
  last_error = why;
  return status;
}

struct Descriptor;

struct Attribute {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<unsigned char> bytes;
  std::vector<std::shared_ptr<Descriptor>> descriptors;

  template <class T>
  std::vector<T> as() const {
    std::vector<T> r(static_cast<size_t>(count));
    std::memcpy(r.data(), bytes.data(), bytes.size());
    return r;
  }
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false, destroyed = false;
  std::map<int, Attribute> attributes;
  Engine engine = kNoEngine;               // of engines, configurations and plans
  std::shared_ptr<Descriptor> graph;       // of configurations: what they are for
  std::shared_ptr<Convolution> operation;  // of operations and plans
  std::atomic<bool> busy{false};           // of plans

  const Attribute& at(cudnnBackendAttributeName_t name) const { return attributes.at(name); }
  template <class T>
  T one(cudnnBackendAttributeName_t name) const {
    return at(name).as<T>()[0];
  }
};

/// The descriptors that programs hold.
struct Registry {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Descriptor>> live;

  std::shared_ptr<Descriptor> find(void* p) {
    const std::lock_guard lock(mutex);
    const auto it = live.find(p);
    return it == live.end() ? nullptr : it->second;
  }
};
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

/// One attribute that a kind of descriptor has.
struct Rule {
  int descriptor;
  int name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool required = true;
};
constexpr int64_t kSpatial = 3, kNdim = 5;
constexpr Rule kRules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, kNdim},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, kNdim},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, kSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, kSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, kSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, kSpatial},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     1},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, 64},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, 64},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1, false},
};

/// The operations' attributes are numbered alike: alpha, beta, geometry, weight, input, output from a first number on.
int first_attribute(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA;
    default:
      return -1;
  }
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    default:
      return 4;
  }
}

cudnnStatus_t check_attribute(const Descriptor& d, int name, cudnnBackendAttributeType_t type, int64_t count) {
  if (const int first = first_attribute(d.type); first >= 0) {
    const int k = name - first;
    if (k < 0 || k > 5) return refuse(CUDNN_STATUS_BAD_PARAM, "an operation has no such attribute");
    const bool fits =
        k < 2 ? type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE : type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
    if (!fits || count != 1) return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an operation's attribute");
    return CUDNN_STATUS_SUCCESS;
  }
  for (const Rule& r : kRules) {
    if (r.descriptor != d.type || r.name != name) continue;
    if (r.type != type)
      return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "type of attribute " + std::to_string(name));
    if (count < r.least || count > r.most)
      return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "count of attribute " + std::to_string(name));
    return CUDNN_STATUS_SUCCESS;
  }
  return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no attribute " + std::to_string(name));
}

cudnnStatus_t check_complete(const Descriptor& d) {
  const auto missing = [&](int name) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(name) + " was not set");
  };
  if (const int first = first_attribute(d.type); first >= 0) {
    for (int k = 0; k < 6; ++k) {
      if (!d.attributes.count(first + k)) return missing(first + k);
    }
  }
  for (const Rule& r : kRules) {
    if (r.descriptor == d.type && r.required && !d.attributes.count(r.name)) return missing(r.name);
  }
  return CUDNN_STATUS_SUCCESS;
}

bool positive(const std::vector<int64_t>& v, int64_t least = 1) {
  return std::all_of(v.begin(), v.end(), [&](int64_t x) { return x >= least; });
}

Tensor tensor_of(const Descriptor& d) {
  return {d.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE), d.at(CUDNN_ATTR_TENSOR_DIMENSIONS).as<int64_t>(),
          d.at(CUDNN_ATTR_TENSOR_STRIDES).as<int64_t>(), d.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
          d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)};
}

cudnnStatus_t finalize_tensor(const Descriptor& d) {
  const Tensor t = tensor_of(d);
  if (t.sizes.size() != t.strides.size() || !positive(t.sizes) || !positive(t.strides))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor's dimensions or strides");
  if (t.alignment < 1 || (t.alignment & (t.alignment - 1)))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor's alignment");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_geometry(const Descriptor& d) {
  const auto spatial = static_cast<size_t>(d.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                          CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const std::vector<int64_t> v = d.at(name).as<int64_t>();
    const bool padding = name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    if (v.size() != spatial || !positive(v, padding ? 0 : 1))
      return refuse(CUDNN_STATUS_BAD_PARAM, "a convolution's numbers");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_operation(Descriptor& d) {
  const int first = first_attribute(d.type);
  const auto part = [&](int k) -> const Descriptor& { return *d.attributes.at(first + k).descriptors[0]; };
  const auto number = [&](int k) {
    const Attribute& a = d.attributes.at(first + k);
    return a.type == CUDNN_TYPE_DOUBLE ? a.as<double>()[0] : static_cast<double>(a.as<float>()[0]);
  };
  if (part(2).type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
    return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an operation's convolution");
  for (int k = 3; k < 6; ++k) {
    if (part(k).type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
      return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an operation's tensor");
  }
  const Descriptor& geometry = part(2);
  auto c = std::make_shared<Convolution>();
  c->direction = d.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? Direction::kOutput
                 : d.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? Direction::kInput
                                                                                          : Direction::kWeight;
  c->weight = tensor_of(part(3)), c->input = tensor_of(part(4)), c->output = tensor_of(part(5));
  c->compute = geometry.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  c->flipped = geometry.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION;
  c->padding = geometry.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS).as<int64_t>();
  c->padding_after = geometry.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS).as<int64_t>();
  c->stride = geometry.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES).as<int64_t>();
  c->dilation = geometry.at(CUDNN_ATTR_CONVOLUTION_DILATIONS).as<int64_t>();
  c->alpha = number(0), c->beta = number(1);
  const cudnnBackendAttributeType_t scale = c->compute == CUDNN_DATA_DOUBLE ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  if (d.attributes.at(first).type != scale || d.attributes.at(first + 1).type != scale)
    return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "alpha or beta");
  if (const cudnnStatus_t status = c->check(); status != CUDNN_STATUS_SUCCESS)
    return refuse(status, "an operation's tensors do not fit together");
  d.operation = std::move(c);
  return CUDNN_STATUS_SUCCESS;
}

/// A configuration's graph, its operation and their parts are still there.
bool alive(const Descriptor& d) {
  if (d.destroyed || (d.graph && !alive(*d.graph))) return false;
  for (const auto& [name, attribute] : d.attributes) {
    for (const auto& part : attribute.descriptors) {
      if (!alive(*part)) return false;
    }
  }
  return true;
}

const Convolution& operation_of(const Descriptor& graph) {
  return *graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors[0]->operation;
}

int64_t workspace_of(Engine engine, const Convolution& c) {
  if (engine == kLargeWorkspace) return int64_t{1} << 50;
  if (engine == kTensorCore) return c.output.count() * 4;
  return engine == kExact ? 64 : 0;
}

bool offers(Engine engine, const Convolution& c, cudnnBackendHeurMode_t mode) {
  if ((mode == CUDNN_HEUR_MODE_FALLBACK) != (engine == kFallback)) return false;
  const bool half = c.input.type == CUDNN_DATA_HALF || c.input.type == CUDNN_DATA_BFLOAT16;
  if (engine == kTensorCore) return c.compute == CUDNN_DATA_FLOAT;
  if (engine == kDownConverting) return c.input.type == CUDNN_DATA_FLOAT;
  if (engine == kNondeterministic) return c.direction != Direction::kOutput;
  return engine != kReducedReduction || half;
}

std::vector<Engine> engines_for(const Descriptor& heuristic) {
  const Convolution& c = operation_of(*heuristic.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors[0]);
  const auto mode = heuristic.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  std::vector<Engine> r;
  for (int e = 0; e < kNoEngine; ++e) {
    if (offers(static_cast<Engine>(e), c, mode)) r.push_back(static_cast<Engine>(e));
  }
  return r;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(Engine engine) {
  switch (engine) {
    case kTensorCore:
      return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
    case kDownConverting:
      return {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS};
    case kNondeterministic:
      return {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC};
    case kReducedReduction:
      return {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
    default:
      return {};
  }
}

bool valid(cudnnHandle_t handle) {
  return handle && handle->magic == kHandle;
}

cudnnStatus_t finalize_plan(Descriptor& d) {
  const Descriptor& configuration = *d.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).descriptors[0];
  if (!valid(d.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a plan's handle");
  if (!configuration.graph || !alive(configuration)) return refuse(CUDNN_STATUS_BAD_PARAM, "a plan's graph is gone");
  const Engine only = static_cast<Engine>(state().only_engine.load());
  if (configuration.engine == kUnbuildable || (only != kNoEngine && only != configuration.engine))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "this engine has no plan");
  d.engine = configuration.engine;
  d.operation = std::make_shared<Convolution>(operation_of(*configuration.graph));
  ++state().plans;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize(Descriptor& d) {
  if (d.finalized) return refuse(CUDNN_STATUS_BAD_PARAM, "finalized twice");
  if (const cudnnStatus_t status = check_complete(d); status != CUDNN_STATUS_SUCCESS) return status;
  for (const auto& [name, attribute] : d.attributes) {
    for (const auto& part : attribute.descriptors) {
      if (part->destroyed) return refuse(CUDNN_STATUS_BAD_PARAM, "a part was destroyed");
    }
  }
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      status = finalize_tensor(d);
      break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      status = finalize_geometry(d);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      if (!valid(d.one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)) ||
          !d.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors[0]->operation)
        status = refuse(CUDNN_STATUS_BAD_PARAM, "a graph's handle or operation");
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      if (d.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors[0]->type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        status = refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a heuristic's graph");
      ++state().heuristics;
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      status = finalize_plan(d);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      if (d.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count != d.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count)
        status = refuse(CUDNN_STATUS_BAD_PARAM, "as many pointers as ids");
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      status = refuse(CUDNN_STATUS_NOT_SUPPORTED, "engines come from heuristics here");
      break;
    default:
      status = finalize_operation(d);
  }
  d.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

/// Sets a flag while it lives, and knows whether it was set already.
class Use {
 public:
  explicit Use(std::atomic<bool>& flag) : flag_(flag), alone_(!flag.exchange(true)) {}
  ~Use() {
    if (alone_) flag_ = false;
  }
  Use(const Use&) = delete;
  bool alone() const { return alone_; }

 private:
  std::atomic<bool>& flag_;
  bool alone_;
};

cudnnStatus_t execute(cudnnContext& handle, Descriptor& plan, const Descriptor& pack) {
  const Use handle_use(handle.busy), plan_use(plan.busy);
  if (!handle_use.alone() || !plan_use.alone())
    return refuse(CUDNN_STATUS_INTERNAL_ERROR, "two threads use one handle or plan");
  const std::vector<int64_t> ids = pack.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).as<int64_t>();
  const std::vector<void*> pointers = pack.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).as<void*>();
  void* workspace = nullptr;
  if (pack.attributes.count(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
    workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const Convolution& c = *plan.operation;
  const auto find = [&](const Tensor& t) -> void* {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == t.id && reinterpret_cast<uintptr_t>(pointers[i]) % static_cast<uintptr_t>(t.alignment) == 0)
        return pointers[i];
    }
    return nullptr;
  };
  const Pointers p{find(c.input), find(c.weight), find(c.output)};
  if (!p.input || !p.weight || !p.output)
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                  "a tensor's pointer is missing or not aligned as it was said");
  const int64_t nbytes = workspace_of(plan.engine, c);
  if (nbytes > 0 && (!workspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0))
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the workspace");
  ++state().executions;
  state().last_engine = plan.engine;
  const Precision precision = plan.engine == kTensorCore && c.input.type == CUDNN_DATA_FLOAT ? Precision::kTf32
                              : plan.engine == kDownConverting                               ? Precision::kHalfOperands
                              : plan.engine == kReducedReduction                             ? Precision::kHalfSums
                                                                                             : Precision::kExact;
  const cudaError_t error = enqueue(handle.stream, [operation = plan.operation, p, precision, workspace, nbytes] {
    if (nbytes > 0) std::memset(workspace, 0xff, static_cast<size_t>(nbytes));
    compute(*operation, p, precision);
  });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class T>
cudnnStatus_t give(const std::vector<T>& values, int64_t requested, int64_t* there, void* to) {
  if (there) *there = static_cast<int64_t>(values.size());
  if (to && !values.empty())
    std::memcpy(to, values.data(), sizeof(T) * std::min(values.size(), static_cast<size_t>(requested)));
  return CUDNN_STATUS_SUCCESS;
}

/// Fills descriptors that the caller made.
cudnnStatus_t fill(cudnnBackendDescriptor_t place, cudnnBackendDescriptorType_t type, Engine engine,
                   const std::shared_ptr<Descriptor>& graph) {
  const auto to = registry().find(place);
  if (!to || to->type != type) return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a place for results");
  to->engine = engine, to->graph = graph, to->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gradus_emulation::cudnn

using namespace gradus_emulation::cudnn;  // NOLINT: this file is that namespace's

extern "C" {

size_t cudnnGetVersion() {
  return 91900;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS"
         : status / 1000 == 2           ? "CUDNN_STATUS_BAD_PARAM"
         : status / 1000 == 3           ? "CUDNN_STATUS_NOT_SUPPORTED"
                                        : "CUDNN_STATUS_INTERNAL_ERROR";
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size == 0) return;
  const size_t n = std::min(size - 1, last_error.size());
  std::memcpy(message, last_error.data(), n);
  message[n] = 0;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *handle = new cudnnContext{kHandle, nullptr, false};
  ++state().handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!valid(handle)) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  constexpr int kKnown[] = {1, 2, 3, 4, 5, 10, 11, 12, 15, 16, 17};
  if (!descriptor) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (std::find(std::begin(kKnown), std::end(kKnown), type) == std::end(kKnown)) return CUDNN_STATUS_NOT_SUPPORTED;
  auto made = std::make_shared<Descriptor>();
  made->type = type;
  *descriptor = made.get();
  const std::lock_guard lock(registry().mutex);
  registry().live[made.get()] = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().live.find(descriptor);
  if (it == registry().live.end()) return refuse(CUDNN_STATUS_BAD_PARAM, "destroyed twice");
  it->second->destroyed = true;
  registry().live.erase(it);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const auto d = registry().find(descriptor);
  return d ? finalize(*d) : refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor");
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  const auto d = registry().find(descriptor);
  if (!d || !values) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor, or no values");
  if (d->finalized) return refuse(CUDNN_STATUS_BAD_PARAM, "set after it was finalized");
  if (const cudnnStatus_t status = check_attribute(*d, name, type, count); status != CUDNN_STATUS_SUCCESS)
    return status;
  Attribute a{type, count, std::vector<unsigned char>(static_cast<size_t>(count) * size_of(type)), {}};
  std::memcpy(a.bytes.data(), values, a.bytes.size());
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (void* p : a.as<void*>()) {
      auto part = registry().find(p);
      if (!part || !part->finalized) return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part is not finalized");
      a.descriptors.push_back(std::move(part));
    }
  }
  d->attributes[name] = std::move(a);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested, int64_t* there,
                                       void* values) {
  const auto d = registry().find(descriptor);
  if (!d) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  if (!d->finalized) return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "read before it was finalized");
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const std::vector<Engine> engines = engines_for(*d);
    const auto count = static_cast<int64_t>(engines.size());
    if (there) *there = values ? std::min(count, requested) : count;
    for (int64_t i = 0; values && i < std::min(count, requested); ++i) {
      const cudnnStatus_t status =
          fill(static_cast<cudnnBackendDescriptor_t*>(values)[i], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
               engines[static_cast<size_t>(i)], d->at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors[0]);
      if (status != CUDNN_STATUS_SUCCESS) return status;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR && requested == 1 && values) {
    if (there) *there = 1;
    return fill(*static_cast<cudnnBackendDescriptor_t*>(values), CUDNN_BACKEND_ENGINE_DESCRIPTOR, d->engine, d->graph);
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE)
    return give(notes_of(d->engine), requested, there, values);
  if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64)
    return give(std::vector<int64_t>{d->engine}, requested, there, values);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64)
    return give(std::vector<int64_t>{workspace_of(d->engine, *d->operation)}, requested, there, values);
  return refuse(CUDNN_STATUS_NOT_SUPPORTED, "cannot be read");
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const auto p = registry().find(plan), v = registry().find(pack);
  if (!valid(handle) || !p || !v) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "handle, plan or pack");
  if (!p->finalized || !v->finalized) return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "plan or pack");
  if (p->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || v->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "plan or pack");
  return execute(*handle, *p, *v);
}

}  // extern "C"
