// Devices, streams, events and guards.
#include <set>
#include <thread>

#include "support.h"

using namespace gradus;
using gradus_test::error_of;
using gradus_test::has;

namespace {

class CudaStreams : public gradus_test::CudaTest {};
using CudaEvents = CudaStreams;
using CudaGuards = CudaStreams;
using CudaDevices = CudaStreams;

TEST_F(CudaDevices, SayWhatTheyAre) {
  const cuda::DeviceProperties& p = cuda::get_device_properties();
  EXPECT_FALSE(p.name.empty());
  EXPECT_EQ(p.uuid.size(), 40u);
  EXPECT_GT(p.multiProcessorCount, 0);
  EXPECT_EQ(p.warpSize, 32);
  const auto [free, total] = cuda::mem_get_info();
  EXPECT_GT(total, 0u);
  EXPECT_LE(free, total);
  EXPECT_GE(cuda::runtime_version(), 12000);
  EXPECT_EQ(cuda::why_unavailable(), "");
  cuda::synchronize();
}

TEST_F(CudaDevices, AreChecked) {
  const std::string many = cuda::device_count() == 2 ? "2 CUDA devices, cuda:0 to cuda:1" : "CUDA device";
  const std::string text = error_of<ValueError>([] { cuda::set_device(99); });
  EXPECT_TRUE(has(text, "set_device: device cuda:99 was given; this machine has ")) << text;
  EXPECT_TRUE(has(text, many)) << text;
  EXPECT_TRUE(has(error_of<ValueError>([] { cuda::synchronize(99); }), "synchronize: device cuda:99"));
  EXPECT_TRUE(has(error_of<ValueError>([] { cuda::synchronize(1000); }), "synchronize: device 1000"));
  EXPECT_TRUE(has(error_of<ValueError>([] { cuda::get_device_properties(-2); }), "get_device_properties: "));
}

TEST_F(CudaDevices, TheCurrentOneIsTheThreads) {
  GRADUS_NEEDS_TWO_DEVICES();
  cuda::set_device(1);
  EXPECT_EQ(cuda::current_device(), 1);
  std::thread([] { EXPECT_EQ(cuda::current_device(), 0); }).join();
  cuda::set_device(0);
  EXPECT_EQ(cuda::can_device_access_peer(0, 1), cuda::can_device_access_peer(1, 0));
}

TEST_F(CudaStreams, APoolHas32) {
  std::set<StreamId> ids;
  std::set<CUstream_st*> handles;
  for (int i = 0; i < 64; ++i) {
    const cuda::CUDAStream s = cuda::getStreamFromPool();
    ids.insert(s.id());
    handles.insert(s.stream());
    EXPECT_EQ(s.device(), Device(kCUDA, 0));
  }
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(handles.size(), 32u);
  EXPECT_EQ(handles.count(nullptr), 0u);
  const cuda::CUDAStream soon = cuda::getStreamFromPool(/*isHighPriority=*/true);
  EXPECT_EQ(ids.count(soon.id()), 0u);
  const auto [lowest, highest] = cuda::CUDAStream::priority_range();
  EXPECT_EQ(soon.priority(), highest);
  EXPECT_EQ(cuda::getStreamFromPool().priority(), lowest);
  EXPECT_EQ(cuda::getStreamFromPool(-1).priority(), -1);
  EXPECT_EQ(cuda::getStreamFromPool(-100).priority(), highest);
}

TEST_F(CudaStreams, TheDefaultOneIsTheFirst) {
  const cuda::CUDAStream s = cuda::getDefaultCUDAStream();
  EXPECT_EQ(s.id(), 0);
  EXPECT_EQ(s.stream(), nullptr);
  EXPECT_EQ(cuda::getCurrentCUDAStream(), s);
  s.synchronize();
  EXPECT_TRUE(s.query());
  EXPECT_EQ(str(s), "stream 0 on cuda:0");
  EXPECT_FALSE(s.is_capturing());
}

TEST_F(CudaStreams, TheCurrentOneIsTheThreads) {
  const cuda::CUDAStream before = cuda::getCurrentCUDAStream();
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  cuda::setCurrentCUDAStream(side);
  EXPECT_EQ(cuda::getCurrentCUDAStream(), side);
  std::thread([] { EXPECT_EQ(cuda::getCurrentCUDAStream().id(), 0); }).join();
  cuda::setCurrentCUDAStream(before);
}

TEST_F(CudaStreams, AHandleFindsItsStream) {
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  EXPECT_EQ(cuda::getStreamFromExternal(side.stream(), 0), side);
  EXPECT_EQ(cuda::getStreamFromExternal(nullptr, 0), cuda::getDefaultCUDAStream());
  const Stream plain = side;
  EXPECT_EQ(cuda::CUDAStream(plain), side);
}

TEST_F(CudaStreams, OthersAreRefused) {
  EXPECT_EQ(error_of<TypeError>([] { cuda::CUDAStream(Stream(Stream::DEFAULT, kCPU)); }),
            "CUDAStream: stream 0 on cpu was given; expected one of a CUDA device");
  const cuda::CUDAStream none(cuda::CUDAStream::UNCHECKED, Stream(Stream::UNSAFE, Device(kCUDA, 0), 9999));
  EXPECT_EQ(error_of<ValueError>([&] { none.synchronize(); }), "stream: 9999 is no stream of cuda:0");
}

TEST_F(CudaEvents, BeginWithTheirFirstRecord) {
  cuda::CUDAEvent e;
  EXPECT_FALSE(e.isCreated());
  EXPECT_TRUE(e.query());
  EXPECT_FALSE(e.device());
  e.synchronize();
  e.block(cuda::getStreamFromPool());
  const cuda::CUDAStream side = cuda::getStreamFromPool();
  e.record(side);
  EXPECT_TRUE(e.isCreated());
  EXPECT_EQ(*e.device(), Device(kCUDA, 0));
  e.synchronize();
  EXPECT_TRUE(e.query());
  cuda::CUDAEvent moved = std::move(e);
  EXPECT_TRUE(moved.isCreated());
  EXPECT_TRUE(moved.query());
  moved.block(cuda::getCurrentCUDAStream());
  cuda::synchronize();
}

TEST_F(CudaEvents, MeasureTime) {
  cuda::CUDAEvent begin(cuda::kEventDefault), end(cuda::kEventDefault), without;
  begin.record();
  end.record();
  end.synchronize();
  const float ms = begin.elapsed_time(end);
  EXPECT_TRUE(ms >= 0 && ms < 10000) << ms;
  without.record();
  EXPECT_TRUE(has(error_of<Error>([&] { begin.elapsed_time(without); }), "both events must be made with timing"));
  EXPECT_TRUE(has(error_of<Error>([&] { begin.elapsed_time(cuda::CUDAEvent(0)); }), "must have been recorded"));
}

TEST_F(CudaEvents, StayOnTheirDevice) {
  GRADUS_NEEDS_TWO_DEVICES();
  cuda::CUDAEvent e;
  e.record(cuda::getDefaultCUDAStream(1));
  EXPECT_EQ(e.device_index(), 1);
  EXPECT_EQ(error_of<Error>([&] { e.record(cuda::getDefaultCUDAStream(0)); }),
            "CUDAEvent::record: the event was made on cuda:1 and the stream is of cuda:0; expected both on one device");
  e.block(cuda::getDefaultCUDAStream(0));
  cuda::getDefaultCUDAStream(0).synchronize();
  EXPECT_TRUE(e.query());
  EXPECT_EQ(cuda::current_device(), 0);
}

TEST_F(CudaGuards, RestoreTheDevice) {
  GRADUS_NEEDS_TWO_DEVICES();
  {
    cuda::CUDAGuard guard(1);
    EXPECT_EQ(cuda::current_device(), 1);
    EXPECT_EQ(guard.original_device(), Device(kCUDA, 0));
    guard.set_index(0);
    EXPECT_EQ(cuda::current_device(), 0);
    guard.set_device(Device(kCUDA, 1));
    EXPECT_EQ(guard.current_device(), Device(kCUDA, 1));
    const cuda::CUDAGuard inner{Device("cuda")};
    EXPECT_EQ(inner.current_device(), Device(kCUDA, 1));
  }
  EXPECT_EQ(cuda::current_device(), 0);
  {
    cuda::OptionalCUDAGuard guard;
    EXPECT_FALSE(guard.current_device());
    guard.set_index(1);
    EXPECT_EQ(*guard.original_device(), Device(kCUDA, 0));
    EXPECT_EQ(cuda::current_device(), 1);
    guard.reset();
    EXPECT_EQ(cuda::current_device(), 0);
  }
  EXPECT_EQ(error_of<TypeError>([] { cuda::CUDAGuard guard{Device(kCPU)}; }),
            "CUDAGuard: cpu was given; expected a CUDA device");
}

TEST_F(CudaGuards, RestoreTheStreamAndItsDevice) {
  GRADUS_NEEDS_TWO_DEVICES();
  const cuda::CUDAStream first = cuda::getStreamFromPool(false, 0), other = cuda::getStreamFromPool(false, 1);
  {
    cuda::CUDAStreamGuard guard(other);
    EXPECT_EQ(cuda::current_device(), 1);
    EXPECT_EQ(cuda::getCurrentCUDAStream(), other);
    EXPECT_EQ(cuda::getCurrentCUDAStream(0).id(), 0);
    guard.reset_stream(first);
    EXPECT_EQ(cuda::current_device(), 0);
    EXPECT_EQ(cuda::getCurrentCUDAStream(), first);
    EXPECT_EQ(cuda::getCurrentCUDAStream(1).id(), 0);
    EXPECT_EQ(guard.original_stream().id(), 0);
    EXPECT_EQ(guard.current_stream(), first);
  }
  EXPECT_EQ(cuda::current_device(), 0);
  EXPECT_EQ(cuda::getCurrentCUDAStream().id(), 0);
  {
    const cuda::CUDAStream both[] = {first, other};
    const cuda::CUDAMultiStreamGuard guard(both);
    EXPECT_EQ(cuda::getCurrentCUDAStream(0), first);
    EXPECT_EQ(cuda::getCurrentCUDAStream(1), other);
    EXPECT_EQ(cuda::current_device(), 0);
  }
  EXPECT_EQ(cuda::getCurrentCUDAStream(0).id(), 0);
  EXPECT_EQ(cuda::getCurrentCUDAStream(1).id(), 0);
  cuda::OptionalCUDAStreamGuard optional;
  EXPECT_FALSE(optional.current_stream());
  optional.reset_stream(other);
  EXPECT_EQ(cuda::current_device(), 1);
  optional.reset();
  EXPECT_EQ(cuda::current_device(), 0);
}

}  // namespace
