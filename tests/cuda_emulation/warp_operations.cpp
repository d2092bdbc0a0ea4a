// Operations that the lanes of a warp do together: complete when all lanes of the mask that have not left have arrived.
#include "mma.h"
#include "scheduling.h"
#include "thread_fibers.h"

namespace gradus_emulation {
namespace {

uint64_t reduce(const Warp& warp, const WarpRecord& record) {
  uint64_t r = 0;
  bool first = true;
  for (unsigned lanes = record.arrived; lanes; lanes &= lanes - 1) {
    const uint32_t v = static_cast<uint32_t>(warp.value[__builtin_ctz(lanes)]);
    const uint32_t so_far = static_cast<uint32_t>(r);
    const bool less = record.is_signed ? static_cast<int32_t>(v) < static_cast<int32_t>(so_far) : v < so_far;
    if (first) {
      r = v;
    } else {
      switch (record.reduction) {
        case WarpReduction::Add:
          r = so_far + v;
          break;
        case WarpReduction::Min:
          r = less ? v : so_far;
          break;
        case WarpReduction::Max:
          r = less ? so_far : v;
          break;
        case WarpReduction::And:
          r = so_far & v;
          break;
        case WarpReduction::Or:
          r = so_far | v;
          break;
        case WarpReduction::Xor:
          r = so_far ^ v;
          break;
      }
    }
    first = false;
  }
  return static_cast<uint32_t>(r);
}

unsigned lanes_with(const Warp& warp, unsigned lanes, uint64_t value) {
  unsigned same = 0;
  for (; lanes; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    if (warp.value[lane] == value) same |= bit(lane);
  }
  return same;
}

void finish_shuffle(int w, const WarpRecord& record) {
  Warp& warp = block.warp[w];
  for (unsigned lanes = record.arrived; lanes; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    const int source = warp.source[lane];
    if (!(record.arrived & bit(source))) {
      fail({.kind = Failure::InactiveLane,
            .site = record.site,
            .thread = w * kLanes + lane,
            .mask = record.mask,
            .lane = source});
    }
    warp.result[lane] = warp.value[source];
  }
}

// All lanes have arrived: computes each one's result and lets them run.
void finish(int w, WarpRecord& record) {
  Warp& warp = block.warp[w];
  const unsigned arrived = record.arrived;
  uint64_t result = 0;
  switch (record.operation) {
    case WarpOperation::Shuffle:
    case WarpOperation::ShuffleUp:
    case WarpOperation::ShuffleDown:
    case WarpOperation::ShuffleXor:
      finish_shuffle(w, record);
      break;
    case WarpOperation::Sync:
      break;
    case WarpOperation::MatchAny:
      for (unsigned lanes = arrived; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        warp.result[lane] = lanes_with(warp, arrived, warp.value[lane]);
      }
      break;
    default:
      if (record.is_reduction) {
        result = reduce(warp, record);
      } else if (record.operation == WarpOperation::MatchAll) {
        result = lanes_with(warp, arrived, warp.value[__builtin_ctz(arrived)]) == arrived ? arrived : 0;
      } else {
        const unsigned yes = arrived & ~lanes_with(warp, arrived, 0);
        result = record.operation == WarpOperation::Ballot ? yes
                 : record.operation == WarpOperation::Any  ? yes != 0
                                                           : yes == arrived;
      }
      for (unsigned lanes = arrived; lanes; lanes &= lanes - 1) warp.result[__builtin_ctz(lanes)] = result;
  }
  set_ready(w, arrived);
  record = warp.records[--warp.record_count];
  note_progress();
}

int shuffle_source(WarpOperation operation, int lane, int operand, int width) {
  const int first = lane & ~(width - 1);
  switch (operation) {
    case WarpOperation::Shuffle:
      return first + (operand & (width - 1));
    case WarpOperation::ShuffleUp:
      return lane - operand < first ? lane : lane - operand;
    case WarpOperation::ShuffleDown:
      return operand >= first + width - lane ? lane : lane + operand;
    case WarpOperation::ShuffleXor:
      return (lane ^ operand) >= first + width ? lane : lane ^ operand;
    default:
      return lane;
  }
}

uint64_t arrive(const WarpRecord& wanted, uint64_t value, int source) {
  const int self = block.current;
  const int w = self / kLanes;
  const int lane = self % kLanes;
  Warp& warp = block.warp[w];
  if (!(wanted.mask & bit(lane))) {
    fail({.kind = Failure::NotInMask, .site = wanted.site, .thread = self, .mask = wanted.mask, .lane = lane});
  }
  int r = 0;
  while (r < warp.record_count && warp.records[r].mask != wanted.mask) ++r;
  WarpRecord& record = warp.records[r];
  if (r == warp.record_count) {
    record = wanted;
    record.arrived = 0;
    record.edge = warp.syncs++ % kWarpEdges;
    ++warp.record_count;
  } else if (record.operation != wanted.operation || !same_site(record.site, wanted.site)) {
    fail({.kind = Failure::OtherOperation,
          .site = wanted.site,
          .other = record.site,
          .thread = self,
          .mask = wanted.mask,
          .lane = __builtin_ctz(record.arrived)});
  }
  warp.value[lane] = value;
  warp.source[lane] = source;
  record.arrived |= bit(lane);
  const bool orders = has_tsan() && wanted.operation == WarpOperation::Sync;
  const int edge = record.edge;
  if (orders) warp_edge(w, edge).release();
  if ((record.mask & ~warp.gone) == record.arrived) {
    finish(w, record);
  } else {
    wait_here(Waiting::Warp, wanted.site, wanted.mask);
  }
  if (orders) warp_edge(w, edge).acquire();
  return warp.result[lane];
}

}  // namespace

void finish_without(int thread) {
  const int w = thread / kLanes;
  Warp& warp = block.warp[w];
  for (int r = 0; r < warp.record_count;) {
    WarpRecord& record = warp.records[r];
    if ((record.mask & bit(thread)) && (record.mask & ~warp.gone) == record.arrived) {
      finish(w, record);
    } else {
      ++r;
    }
  }
}

uint64_t warp_operation(Site site, WarpOperation operation, unsigned mask, uint64_t value, int lane, int width) {
  if (width <= 0 || width > kLanes || (width & (width - 1)) != 0)
    fail({.kind = Failure::BadWidth, .site = site, .thread = block.current});
  const WarpRecord wanted = {.mask = mask,
                             .arrived = 0,
                             .operation = operation,
                             .is_reduction = false,
                             .reduction = {},
                             .is_signed = false,
                             .site = site,
                             .edge = 0};
  return arrive(wanted, value, shuffle_source(operation, block.current % kLanes, lane, width));
}

void warp_together(Site site, void* mine, void (*work)(void* const* of_lane)) {
  Warp& warp = warp_of(block.current);
  const int lane = block.current % kLanes;
  warp.addresses[lane] = mine;
  warp_operation(site, WarpOperation::Sync, ~0u, 0, 0, kLanes);
  if (warp.gone != 0) {
    fail({.kind = Failure::InactiveLane,
          .site = site,
          .thread = block.current,
          .mask = ~0u,
          .lane = __builtin_ctz(warp.gone)});
  }
  if (lane == 0) work(warp.addresses);
  warp_operation(site, WarpOperation::Sync, ~0u, 0, 0, kLanes);
}

int lane_number() {
  return block.current % kLanes;
}

uint64_t warp_reduction(Site site, WarpReduction reduction, bool is_signed, unsigned mask, uint64_t value) {
  const WarpRecord wanted = {.mask = mask,
                             .arrived = 0,
                             .operation = WarpOperation::All,
                             .is_reduction = true,
                             .reduction = reduction,
                             .is_signed = is_signed,
                             .site = site,
                             .edge = 0};
  return arrive(wanted, value, 0);
}

}  // namespace gradus_emulation
