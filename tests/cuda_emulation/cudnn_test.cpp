// The emulated cuDNN: what a graph's descriptors say is what it computes, and wrong ones are refused.
#include <cudnn.h>

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "libraries.h"

namespace {

namespace emulated = gradus_emulation::cudnn;

using Ints = std::vector<int64_t>;

/// A descriptor that is destroyed with the test.
class Made {
 public:
  explicit Made(cudnnBackendDescriptorType_t type) {
    EXPECT_EQ(cudnnBackendCreateDescriptor(type, &descriptor_), CUDNN_STATUS_SUCCESS);
  }
  ~Made() { cudnnBackendDestroyDescriptor(descriptor_); }
  Made(const Made&) = delete;
  cudnnBackendDescriptor_t get() const { return descriptor_; }
  cudnnStatus_t set(cudnnBackendAttributeName_t name, const Ints& v) {
    return cudnnBackendSetAttribute(descriptor_, name, CUDNN_TYPE_INT64, static_cast<int64_t>(v.size()), v.data());
  }
  template <class T>
  cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T v) {
    return cudnnBackendSetAttribute(descriptor_, name, type, 1, &v);
  }
  cudnnStatus_t set(cudnnBackendAttributeName_t name, const Made& part) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.get());
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(descriptor_); }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

struct TensorMade : Made {
  TensorMade(const Ints& sizes, const Ints& strides, int64_t id, cudnnDataType_t type = CUDNN_DATA_FLOAT)
      : Made(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Ints{id});
    set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Ints{4});
    EXPECT_EQ(finalize(), CUDNN_STATUS_SUCCESS);
  }
};

/// All of a forward convolution of [1, 1, 2, 3] by [1, 1, 1, 2] to [1, 1, 2, 2], as far as it succeeds.
struct Graph {
  cudnnHandle_t handle = nullptr;
  TensorMade x, w, y;
  Made geometry{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Made operation{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR},
      graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  Made heuristic{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
  std::map<int, std::unique_ptr<Made>> configurations;  // by engine
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

  explicit Graph(cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION, const Ints& y_size = {1, 1, 2, 2},
                 const Ints& padding_after = {0, 0}, cudnnDataType_t w_type = CUDNN_DATA_FLOAT,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT)
      : x({1, 1, 2, 3}, {6, 6, 3, 1}, 'x'), w({1, 1, 1, 2}, {2, 2, 2, 1}, 'w', w_type), y(y_size, {4, 4, 2, 1}, 'y') {
    EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    geometry.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute);
    geometry.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, mode);
    geometry.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Ints{2});
    geometry.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Ints{1, 1});
    geometry.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Ints{1, 1});
    geometry.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Ints{0, 0});
    geometry.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding_after);
    EXPECT_EQ(geometry.finalize(), CUDNN_STATUS_SUCCESS);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, geometry);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    if ((status = operation.finalize()) != CUDNN_STATUS_SUCCESS) return;
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    if ((status = graph.finalize()) != CUDNN_STATUS_SUCCESS) return;
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    if ((status = heuristic.finalize()) != CUDNN_STATUS_SUCCESS) return;
    list();
  }
  ~Graph() { cudnnDestroy(handle); }

  void list() {
    int64_t count = 0;
    cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                             nullptr);
    std::vector<std::unique_ptr<Made>> made;
    std::vector<cudnnBackendDescriptor_t> places;
    for (int64_t i = 0; i < count; ++i) {
      made.push_back(std::make_unique<Made>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      places.push_back(made.back()->get());
    }
    EXPECT_EQ(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       count, &count, places.data()),
              CUDNN_STATUS_SUCCESS);
    for (auto& configuration : made) {
      const Made engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      cudnnBackendDescriptor_t place = engine.get();
      int64_t index = -1, there = 0;
      cudnnBackendGetAttribute(configuration->get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &there, &place);
      cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &there, &index);
      configurations[static_cast<int>(index)] = std::move(configuration);
    }
  }
};

/// An engine's plan for a graph and memory to run it on.
struct Plan {
  Made plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR}, pack{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  float* memory = nullptr;  // x, w, y, a workspace
  cudnnStatus_t status;

  Plan(Graph& g, int engine) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, g.handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, *g.configurations.at(engine));
    status = plan.finalize();
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 1024), cudaSuccess);
    const float numbers[] = {1, 2, 3, 4, 5, 6, 10, 1};
    EXPECT_EQ(cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Plan() { cudaFree(memory); }
  cudnnStatus_t run(Graph& g, const Ints& ids, bool workspace = true, const char* shift = nullptr) {
    std::vector<void*> pointers{memory, memory + 6, memory + 8};
    if (shift) pointers[1] = reinterpret_cast<char*>(memory) + 25;
    pointers.resize(ids.size());
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    cudnnBackendSetAttribute(pack.get(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                             static_cast<int64_t>(pointers.size()), pointers.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             workspace ? static_cast<void*>(memory + 64) : nullptr);
    if (const cudnnStatus_t s = pack.finalize(); s != CUDNN_STATUS_SUCCESS) return s;
    return cudnnBackendExecute(g.handle, plan.get(), pack.get());
  }
  std::vector<float> result() const {
    std::vector<float> v(4);
    EXPECT_EQ(cudaMemcpy(v.data(), memory + 8, 16, cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }
};
const Ints kIds{'x', 'w', 'y'};

TEST(EmulatedCudnn, CorrelationAndConvolution) {
  Graph g;
  ASSERT_EQ(g.status, CUDNN_STATUS_SUCCESS);
  Plan p(g, emulated::kExact);
  ASSERT_EQ(p.run(g, kIds), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(p.result(), (std::vector<float>{12, 23, 45, 56}));
  Graph flipped(CUDNN_CONVOLUTION);
  Plan q(flipped, emulated::kExact);
  ASSERT_EQ(q.run(flipped, kIds), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(q.result(), (std::vector<float>{21, 32, 54, 65}));
}

TEST(EmulatedCudnn, TensorsThatDoNotFitAreRefused) {
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 1, 2, 3}).status, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 2, 2, 2}).status, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 1, 2, 2}, {0, 1}).status, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 1, 2, 3}, {0, 1}).status, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 1, 2, 2}, {0, 0}, CUDNN_DATA_HALF).status,
            CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
  EXPECT_EQ(Graph(CUDNN_CROSS_CORRELATION, {1, 1, 2, 2}, {0, 0}, CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE).status / 1000, 2)
      << "alpha and beta have another type than the computation";
}

TEST(EmulatedCudnn, WrongAttributesAreRefused) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, int64_t{0}), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, Ints{1, 2, 3}), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  EXPECT_EQ(t.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Ints{1, 1}), CUDNN_STATUS_NOT_SUPPORTED);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, Ints{1, 1, 2, 2});
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Ints{1});
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Ints{16});
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_BAD_PARAM) << "no strides";
  t.set(CUDNN_ATTR_TENSOR_STRIDES, Ints{4, 4, 0, 1});
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_BAD_PARAM) << "a stride of 0";
  t.set(CUDNN_ATTR_TENSOR_STRIDES, Ints{4, 4, 2, 1});
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Ints{12});
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_BAD_PARAM) << "an alignment of 12";
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Ints{8});
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_BAD_PARAM) << "twice";
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Ints{2}), CUDNN_STATUS_BAD_PARAM) << "afterwards";
  Made operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  EXPECT_EQ(operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, t), CUDNN_STATUS_BAD_PARAM);
  const Made unfinished(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, unfinished),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(operation.finalize(), CUDNN_STATUS_BAD_PARAM);
  cudnnBackendDescriptor_t none = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(99), &none),
            CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(&none), CUDNN_STATUS_BAD_PARAM);
}

TEST(EmulatedCudnn, WrongPacksAreRefused) {
  Graph g;
  EXPECT_NE(Plan(g, emulated::kExact).run(g, {'x', 'w'}), CUDNN_STATUS_SUCCESS) << "no output";
  EXPECT_NE(Plan(g, emulated::kExact).run(g, {'x', 'w', 'z'}), CUDNN_STATUS_SUCCESS) << "an unknown tensor";
  EXPECT_EQ(Plan(g, emulated::kExact).run(g, kIds, false), CUDNN_STATUS_BAD_PARAM_NULL_POINTER) << "no workspace";
  EXPECT_EQ(Plan(g, emulated::kExact).run(g, kIds, true, "odd"), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
}

TEST(EmulatedCudnn, PlansNeedTheirGraph) {
  Graph g;
  EXPECT_EQ(Plan(g, emulated::kUnbuildable).status, CUDNN_STATUS_NOT_SUPPORTED);
  std::unique_ptr<Made> configuration;
  {
    Graph gone;
    configuration = std::move(gone.configurations.at(emulated::kExact));
  }
  g.configurations[emulated::kExact] = std::move(configuration);
  EXPECT_EQ(Plan(g, emulated::kExact).status, CUDNN_STATUS_BAD_PARAM);
}

TEST(EmulatedCudnn, EnginesRoundAsTheyNote) {
  Graph g;
  const float fine[] = {1 + 1.0f / 8192, 1, 1, 1, 1, 1, 1, 1};
  const auto first = [&](int engine) {
    Plan p(g, engine);
    EXPECT_EQ(cudaMemcpy(p.memory, fine, sizeof fine, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(p.run(g, kIds), CUDNN_STATUS_SUCCESS);
    return p.result()[0];
  };
  EXPECT_EQ(first(emulated::kExact), 2 + 1.0f / 8192);
  EXPECT_EQ(first(emulated::kTensorCore), 2);
  EXPECT_EQ(first(emulated::kDownConverting), 2);
}

}  // namespace
