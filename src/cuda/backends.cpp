// Part of libgradus, not of the CUDA library: the switches can be set before that is loaded, and without it.
#include <gradus/cuda/backends.h>

#include <atomic>

#include <gradus/core/error.h>

namespace gradus::inline v0::cuda {

namespace {

constinit std::atomic<bool> matmul_allow_tf32 = false;
constinit std::atomic<bool> matmul_allow_fp16_reduction = true;
constinit std::atomic<bool> matmul_allow_bf16_reduction = true;
constinit std::atomic<bool> cudnn_enabled = true;
constinit std::atomic<bool> cudnn_allow_tf32 = true;
constinit std::atomic<bool> cudnn_benchmark = false;
constinit std::atomic<int> cudnn_benchmark_limit = 10;
constinit std::atomic<bool> cudnn_deterministic = false;

}  // namespace

bool get_matmul_allow_tf32() {
  return matmul_allow_tf32.load(std::memory_order_relaxed);
}
void set_matmul_allow_tf32(bool allow) {
  matmul_allow_tf32.store(allow, std::memory_order_relaxed);
}

bool get_matmul_allow_fp16_reduction() {
  return matmul_allow_fp16_reduction.load(std::memory_order_relaxed);
}
void set_matmul_allow_fp16_reduction(bool allow) {
  matmul_allow_fp16_reduction.store(allow, std::memory_order_relaxed);
}

bool get_matmul_allow_bf16_reduction() {
  return matmul_allow_bf16_reduction.load(std::memory_order_relaxed);
}
void set_matmul_allow_bf16_reduction(bool allow) {
  matmul_allow_bf16_reduction.store(allow, std::memory_order_relaxed);
}

bool get_cudnn_enabled() {
  return cudnn_enabled.load(std::memory_order_relaxed);
}
void set_cudnn_enabled(bool enabled) {
  cudnn_enabled.store(enabled, std::memory_order_relaxed);
}

bool get_cudnn_allow_tf32() {
  return cudnn_allow_tf32.load(std::memory_order_relaxed);
}
void set_cudnn_allow_tf32(bool allow) {
  cudnn_allow_tf32.store(allow, std::memory_order_relaxed);
}

bool get_cudnn_benchmark() {
  return cudnn_benchmark.load(std::memory_order_relaxed);
}
void set_cudnn_benchmark(bool benchmark) {
  cudnn_benchmark.store(benchmark, std::memory_order_relaxed);
}

int get_cudnn_benchmark_limit() {
  return cudnn_benchmark_limit.load(std::memory_order_relaxed);
}
void set_cudnn_benchmark_limit(int limit) {
  GRADUS_CHECK_AS(ValueError, limit >= 0, "set_cudnn_benchmark_limit: ", limit, " was given; expected 0 or more");
  cudnn_benchmark_limit.store(limit, std::memory_order_relaxed);
}

bool get_cudnn_deterministic() {
  return cudnn_deterministic.load(std::memory_order_relaxed);
}
void set_cudnn_deterministic(bool deterministic) {
  cudnn_deterministic.store(deterministic, std::memory_order_relaxed);
}

}  // namespace gradus::inline v0::cuda
