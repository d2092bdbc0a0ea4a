#include "kernels/cuda/reduction_plan.h"

#include "kernels/cuda/reduction.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int64_t kThreads = kReductionThreads, kUnroll = kReductionUnroll;
constexpr int64_t kMostPieces = 4096;

uint32_t narrow_count(int64_t n) {
  return static_cast<uint32_t>(n);
}
int64_t power_of_two(int64_t n) {  // the next from n on
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}
int64_t power_between(int64_t n, int64_t least, int64_t most) {
  return std::clamp(power_of_two(n), least, most);
}

/// The dimensions of a side that are not of size 1.
struct Side {
  int dims = 0;
  int64_t sizes[Reduction::kMaxDims], strides[Reduction::kMaxDims], out_strides[Reduction::kMaxDims];
  Side(int n, const int64_t* size, const int64_t* stride, const int64_t* out) {
    for (int d = 0; d < n; ++d) {
      if (size[d] == 1) continue;
      sizes[dims] = size[d];
      strides[dims] = stride[d];
      out_strides[dims++] = out ? out[d] : 0;
    }
  }
};

/// Blocks that run at once, of those with registers for a few vectors of a thread.
int64_t blocks_at_once() {
  return int64_t{context().multiprocessors} * 4;
}

/// How many of `possible` pieces fill the device beside `blocks` of them.
int64_t pieces_for(int64_t blocks, int64_t possible) {
  return std::clamp<int64_t>(std::min(blocks_at_once() / blocks, possible), 1, kMostPieces);
}

bool on_packs(const Side& kept, const Side& reduced, const void* in, const ReductionTraits& t) {
  const int64_t bytes = int64_t{t.item} * t.width;
  const auto aligned = [&](int64_t n) { return n % bytes == 0; };
  bool all = t.vectors && t.width > 1 && kept.dims > 0 && kept.strides[0] == t.item && kept.sizes[0] % t.width == 0 &&
             aligned(static_cast<int64_t>(reinterpret_cast<uintptr_t>(in)));
  for (int d = 1; all && d < kept.dims; ++d) all = aligned(kept.strides[d]);
  for (int d = 0; all && d < reduced.dims; ++d) all = aligned(reduced.strides[d]);
  return all;
}

void plan_rows(ReductionPlan& p, const Side& reduced, const ReductionTraits& t) {
  ReductionWork& w = p.work;
  p.kind = ReductionPlan::kRows;
  const int64_t row = reduced.sizes[0], pack = 16 / t.item, outputs = w.outputs;
  w.length = narrow_count(row);
  w.rows = 1;
  for (int d = 1; d < reduced.dims; ++d) {
    w.reduced.add(reduced.sizes[d], reduced.strides[d]);
    w.rows *= narrow_count(reduced.sizes[d]);
  }
  // A few packs a thread, more threads while the device has room.
  int64_t group = power_between(ceil_div(row, pack * kUnroll), 1, kThreads);
  const int64_t room = int64_t{context().multiprocessors} * 1024;
  while (w.rows == 1 && group < kThreads && outputs * group < room && group * pack < row) group *= 2;
  const int64_t across = power_between(outputs, std::max<int64_t>(1, kWarp / group), kThreads / group);
  const int64_t blocks = ceil_div(outputs, across);
  const int64_t row_pieces_possible = std::max<int64_t>(1, group < kThreads ? 1 : row / (group * pack * kUnroll));
  const int64_t pieces = pieces_for(blocks, ceil_div(w.rows, 2) * row_pieces_possible);
  const int64_t over_rows = std::min<int64_t>(pieces, ceil_div(w.rows, 2));
  w.rows_part = narrow_count(ceil_div(w.rows, over_rows));
  // Parts of a row begin at the same place of a 16-byte pack.
  w.part = narrow_count(std::min(row, ceil_div(ceil_div(row, pieces / over_rows), pack) * pack));
  w.row_pieces = narrow_count(ceil_div(row, w.part));
  w.pieces = w.row_pieces * narrow_count(ceil_div(w.rows, w.rows_part));
  w.across = narrow_count(across);
  w.along = narrow_count(group);
  p.grid = dim3(narrow_count(blocks), w.pieces);
}

/// Whether neighbours along a lie closer than along b. Without a stride nothing is gained by going side by side.
bool nearer(int64_t a, int64_t b) {
  return a != 0 && (b == 0 || std::abs(a) < std::abs(b));
}

void plan_strided(ReductionPlan& p, const Side& kept, const Side& reduced, int width) {
  ReductionWork& w = p.work;
  p.kind = width > 1 ? ReductionPlan::kColumns : ReductionPlan::kStrided;
  for (int d = 0; d < reduced.dims; ++d) w.reduced.add(reduced.sizes[d], reduced.strides[d]);
  const int64_t columns = w.outputs / width, length = w.length;
  w.reduced_first = width == 1 && reduced.dims > 0 && (kept.dims == 0 || nearer(reduced.strides[0], kept.strides[0]));
  const int64_t most_along = power_between(ceil_div(length, kUnroll), 1, kThreads);
  int64_t along;
  if (w.reduced_first) {
    along = most_along;
  } else {
    const int64_t side_by_side = kept.dims ? ceil_div(kept.sizes[0], width) : 1;
    along = std::min(most_along, kThreads / power_between(side_by_side, 1, kWarp));
  }
  const int64_t across = power_between(columns, std::max<int64_t>(1, kWarp / along), kThreads / along);
  const int64_t blocks = ceil_div(columns, across);
  const int64_t pieces = pieces_for(blocks, length / (along * kUnroll * 2));
  w.part = narrow_count(std::max<int64_t>(1, ceil_div(length, pieces)));
  w.pieces = narrow_count(std::max<int64_t>(1, ceil_div(length, w.part)));
  w.across = narrow_count(across);
  w.along = narrow_count(along);
  p.grid = dim3(narrow_count(blocks), w.pieces);
}

}  // namespace

ReductionPlan plan_reduction(const Reduction& r, const ReductionTraits& t) {
  const Side kept(r.kept, r.kept_sizes, r.kept_strides, r.out_strides);
  const Side reduced(r.reduced, r.reduced_sizes, r.reduced_strides, nullptr);
  ReductionPlan p;
  ReductionWork& w = p.work;
  w.in = r.in;
  w.partial = nullptr;
  w.start = {};
  w.outputs = narrow_count(r.outputs);
  w.kept.clear();
  w.reduced.clear();
  w.length = narrow_count(r.length);
  w.rows = w.rows_part = w.row_pieces = 1;
  w.next = 0;
  w.reduced_first = true;
  const bool rows = t.vectors && reduced.dims > 0 && r.length > 0 && reduced.strides[0] == t.item &&
                    (reduced.dims == 1 || reduced.sizes[0] >= 512);
  const int width = !rows && on_packs(kept, reduced, r.in, t) ? t.width : 1;
  for (int d = 0; d < kept.dims; ++d) {
    const int by = d == 0 ? width : 1;
    w.kept.add(kept.sizes[d] / by, kept.strides[d] * by, kept.out_strides[d] * by);
  }
  if (width > 1) w.next = kept.out_strides[0];
  rows ? plan_rows(p, reduced, t) : plan_strided(p, kept, reduced, width);
  p.threads = w.across * w.along;
  return p;
}

Places<2> results_of(const Reduction& r) {
  Places<2> places;
  places.clear();
  for (int d = 0; d < r.kept; ++d) places.add(r.kept_sizes[d], r.kept_strides[d], r.out_strides[d]);
  return places;
}

JoinShape join_shape(uint32_t outputs, uint32_t pieces) {
  const int64_t along = std::min(power_between(pieces, 1, kThreads), kThreads / power_between(outputs, 1, kWarp));
  return {narrow_count(power_between(outputs, std::max<int64_t>(1, kWarp / along), kThreads / along)),
          narrow_count(along)};
}

std::vector<ReductionPart> split_outputs(const Reduction& r, int64_t limit) {
  std::vector<ReductionPart> parts = {{r, {}}};
  for (size_t i = 0; i < parts.size();) {
    Reduction& a = parts[i].reduction;
    while (a.kept > 0 && a.kept_sizes[a.kept - 1] == 1) --a.kept;
    if (a.outputs <= limit) {
      ++i;
      continue;
    }
    const int d = a.kept - 1;
    const int64_t size = a.kept_sizes[d], first = size / 2, inner = a.outputs / size;
    ReductionPart second = parts[i];
    a.kept_sizes[d] = first;
    a.outputs = first * inner;
    second.reduction.kept_sizes[d] = size - first;
    second.reduction.outputs = (size - first) * inner;
    second.reduction.in += first * a.kept_strides[d];
    second.start.offset += first * a.out_strides[d];
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
  }
  return parts;
}

std::vector<ReductionPart> split_length(const ReductionPart& part, int64_t limit) {
  std::vector<ReductionPart> parts = {part};
  for (size_t i = 0; i < parts.size();) {
    Reduction& a = parts[i].reduction;
    while (a.reduced > 0 && a.reduced_sizes[a.reduced - 1] == 1) --a.reduced;
    if (a.length <= limit) {
      ++i;
      continue;
    }
    const int d = a.reduced - 1;
    const int64_t size = a.reduced_sizes[d], first = size / 2, inner = a.length / size;
    ReductionPart second = parts[i];
    a.reduced_sizes[d] = first;
    a.length = first * inner;
    second.reduction.reduced_sizes[d] = size - first;
    second.reduction.length = (size - first) * inner;
    second.reduction.in += first * a.reduced_strides[d];
    second.start.position += first * inner;
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
  }
  return parts;
}

}  // namespace gradus::inline v0::kernels::cuda
