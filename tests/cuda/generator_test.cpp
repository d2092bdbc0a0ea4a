// CUDA generators: seeds, offsets, states.
#include <cstring>

#include <gradus/core/cpu_generator.h>
#include <gradus/cuda/generator.h>

#include "support.h"

using namespace gradus;
using gradus_test::error_of;
using gradus_test::has;

namespace {

class CudaGenerator : public gradus_test::CudaTest {};

cuda::CUDAGeneratorImpl& impl(const Generator& g) {
  return *g.get<cuda::CUDAGeneratorImpl>();
}

TEST_F(CudaGenerator, CountsDrawsInFours) {
  Generator g = make_generator<cuda::CUDAGeneratorImpl>(DeviceIndex{0}, uint64_t{42});
  EXPECT_EQ(g.device(), Device(kCUDA, 0));
  cuda::PhiloxState s = impl(g).reserve(1);
  EXPECT_EQ(s.seed, 42u);
  EXPECT_EQ(s.offset, 0u);
  EXPECT_EQ(s.captured_seed, nullptr);
  s = impl(g).reserve(9);
  EXPECT_EQ(s.offset, 4u);
  EXPECT_EQ(impl(g).get_offset(), 16u);
  g.set_current_seed(7);
  EXPECT_EQ(impl(g).get_offset(), 0u);
  EXPECT_EQ(impl(g).reserve(4).seed, 7u);
}

TEST_F(CudaGenerator, StateIsPyTorchs) {
  Generator g = cuda::detail::createCUDAGenerator();
  EXPECT_EQ(g.current_seed(), default_rng_seed_val);
  g.set_current_seed(0x0102030405060708);
  impl(g).set_offset(12);
  const std::vector<uint8_t> expected = {8, 7, 6, 5, 4, 3, 2, 1, 12, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(g.state(), expected);
  Generator other = cuda::detail::createCUDAGenerator();
  other.set_state(g.state());
  EXPECT_EQ(other.current_seed(), g.current_seed());
  EXPECT_EQ(impl(other).get_offset(), 12u);
  other.set_state(std::vector<uint8_t>(expected.begin(), expected.begin() + 8));
  EXPECT_EQ(other.current_seed(), g.current_seed());
  EXPECT_EQ(impl(other).get_offset(), 0u);
  EXPECT_TRUE(has(error_of<Error>([&] { other.set_state(std::vector<uint8_t>(5)); }), "5 bytes were given"));
  std::vector<uint8_t> odd = expected;
  odd[8] = 13;
  EXPECT_TRUE(has(error_of<Error>([&] { other.set_state(odd); }), "the offset is 13"));
  EXPECT_TRUE(has(error_of<ValueError>([&] { impl(other).set_offset(2); }), "expected a multiple of 4"));
}

TEST_F(CudaGenerator, ClonesGoTheirOwnWay) {
  Generator g = cuda::detail::createCUDAGenerator();
  impl(g).reserve(8);
  Generator copy = g.clone();
  EXPECT_EQ(copy.state(), g.state());
  impl(copy).reserve(4);
  EXPECT_NE(copy.state(), g.state());
  EXPECT_NE(copy, g);
}

TEST_F(CudaGenerator, ManualSeedReachesEveryDevice) {
  manual_seed(123);
  for (size_t d = 0; d < cuda::device_count(); ++d) {
    EXPECT_EQ(default_generator(Device(kCUDA, static_cast<DeviceIndex>(d))).current_seed(), 123u);
  }
  EXPECT_EQ(default_generator().current_seed(), 123u);
  cuda::manual_seed_all(5);
  EXPECT_EQ(default_generator().current_seed(), 123u);
  EXPECT_EQ(default_generator(kCUDA).current_seed(), 5u);
  if (cuda::device_count() > 1) {
    cuda::manual_seed(6);
    EXPECT_EQ(default_generator(Device(kCUDA, 0)).current_seed(), 6u);
    EXPECT_EQ(default_generator(Device(kCUDA, 1)).current_seed(), 5u);
    EXPECT_NE(default_generator(Device(kCUDA, 0)), default_generator(Device(kCUDA, 1)));
    const cuda::CUDAGuard guard(1);
    EXPECT_EQ(default_generator(kCUDA), default_generator(Device(kCUDA, 1)));
    EXPECT_EQ(cuda::detail::getDefaultCUDAGenerator(), default_generator(kCUDA));
  }
}

TEST_F(CudaGenerator, GuardsStandForTheirDevice) {
  Generator g = make_generator<cuda::CUDAGeneratorImpl>(DeviceIndex{0});
  const Generator before = default_generator(Device(kCUDA, 0));
  {
    const GeneratorGuard guard(g);
    EXPECT_EQ(default_generator(kCUDA), g);
    EXPECT_EQ(default_generator(Device(kCUDA, 0)), g);
    if (cuda::device_count() > 1) {
      EXPECT_NE(default_generator(Device(kCUDA, 1)), g);
    }
    EXPECT_NE(default_generator(), g);
  }
  EXPECT_EQ(default_generator(Device(kCUDA, 0)), before);
  {
    // Seeding in the guard of a CPU generator is that generator's matter.
    const uint64_t seed = before.current_seed();
    const GeneratorGuard guard(make_generator(1));
    manual_seed(seed + 1);
    EXPECT_EQ(default_generator().current_seed(), seed + 1);
    EXPECT_EQ(before.current_seed(), seed);
  }
}

}  // namespace
