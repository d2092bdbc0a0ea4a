// The generator's numbers and states against PyTorch's, its handles, the thread's default one.
#include <gradus/core/cpu_generator.h>
#include <gradus/core/tensor.h>

#include <thread>

#include <gtest/gtest.h>

#include "tests/references/random_values.h"

namespace {

using namespace gradus;

uint64_t fnv(const std::vector<uint8_t>& bytes) {
  uint64_t h = 0xcbf29ce484222325;
  for (const uint8_t b : bytes) h = (h ^ b) * 0x100000001b3;
  return h;
}

CPUGeneratorImpl& impl(const Generator& g) {
  return *g.get<CPUGeneratorImpl>();
}

TEST(Generator, DrawsPyTorchsNumbers) {
  const Generator g = make_generator(7);
  for (const uint32_t want : kDraws32) EXPECT_EQ(impl(g).random() & 0x7fffffff, want);
  const Generator wide = make_generator(7);
  for (const uint64_t want : kDraws64) EXPECT_EQ(impl(wide).random64(), want);
  const Generator last = make_generator(~uint64_t{0});
  for (const uint32_t want : kDrawsOfSeed2To64Minus1) EXPECT_EQ(impl(last).random() & 0x7fffffff, want);
}

TEST(Generator, ManyDrawsAreThatManyCalls) {
  const Generator one = make_generator(3), many = make_generator(3);
  std::vector<uint32_t> got(2000);
  for (const int64_t n : {0, 1, 622, 1, 1, 623, 624, 625, 1300}) {
    impl(many).random(got.data(), n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(got[i], impl(one).random()) << n << " " << i;
    ASSERT_EQ(one.state(), many.state());
  }
}

TEST(Generator, StateIsPyTorchs) {
  Generator g = make_generator(7);
  EXPECT_EQ(g.state().size(), 5056u);
  EXPECT_EQ(fnv(g.state()), kStateHashes[0]);
  const std::vector<uint8_t> fresh = g.state();
  const uint32_t first = impl(g).random();
  g.set_state(fresh);
  EXPECT_EQ(impl(g).random(), first);
}

TEST(Generator, StateHoldsTheWaitingNormals) {
  Generator g = make_generator(1), copy = make_generator(2);
  impl(g).set_next_double_normal_sample(0.25);
  impl(g).set_next_float_normal_sample(-0.5f);
  copy.set_state(g.state());
  EXPECT_EQ(impl(copy).next_double_normal_sample(), 0.25);
  EXPECT_EQ(impl(copy).next_float_normal_sample(), -0.5f);
  EXPECT_EQ(copy.state(), g.state());
  copy.set_current_seed(1);
  EXPECT_FALSE(impl(copy).next_double_normal_sample().has_value());
  EXPECT_EQ(copy.state(), make_generator(1).state());
}

TEST(Generator, RefusesWhatIsNoState) {
  Generator g = make_generator(1);
  const std::vector<uint8_t> good = g.state();
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(816)), Error);
  EXPECT_THROW(g.set_state(std::vector<uint8_t>(5056)), Error);
  std::vector<uint8_t> beyond = good;
  beyond[8] = 100;    // left
  beyond[16] = 0xff;  // next: 99 words are not left from there on
  beyond[17] = 2;
  EXPECT_THROW(g.set_state(beyond), Error);
  try {
    g.set_state({1, 2, 3});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "Generator::set_state: 3 bytes were given; a CPU generator's state has 5056");
  }
  EXPECT_EQ(g.state(), good);
}

TEST(Generator, StateAsATensor) {
  Generator g = make_generator(1), other = make_generator(2);
  impl(g).random();
  const Tensor bytes = g.get_state();
  EXPECT_EQ(bytes.scalar_type(), kByte);
  EXPECT_EQ(bytes.numel(), 5056);
  other.set_state(bytes);
  EXPECT_EQ(other.state(), g.state());
  EXPECT_EQ(other.get_state().data_ptr<uint8_t>()[8], bytes.data_ptr<uint8_t>()[8]);
}

TEST(Generator, ImplementationsAreFoundByKind) {
  const Generator g = make_generator(1);
  EXPECT_EQ(check_generator<CPUGeneratorImpl>(g), &impl(g));
  EXPECT_EQ(get_generator_or_default<CPUGeneratorImpl>(std::nullopt, g), &impl(g));
  EXPECT_THROW(check_generator<CPUGeneratorImpl>(std::nullopt), Error);
}

TEST(Generator, HandlesShareAndClonesDoNot) {
  Generator g = make_generator(5), same = g, copy = g.clone();
  EXPECT_EQ(g, same);
  EXPECT_NE(g, copy);
  impl(g).random();
  EXPECT_EQ(g.state(), same.state());
  EXPECT_NE(g.state(), copy.state());
  EXPECT_EQ(copy.current_seed(), 5u);
  EXPECT_EQ(copy.device().type(), DeviceType::CPU);
  EXPECT_EQ(make_generator().current_seed(), default_rng_seed_val);
  EXPECT_EQ(make_generator<CPUGeneratorImpl>(9).current_seed(), 9u);
  EXPECT_EQ(detail::createCPUGenerator(4).current_seed(), 4u);
}

TEST(Generator, SeedsFromEntropy) {
  Generator g = make_generator(5);
  const uint64_t seed = g.seed();
  EXPECT_EQ(g.current_seed(), seed);
  EXPECT_LT(seed, uint64_t{1} << 53);
  EXPECT_NE(g.seed(), seed);
}

TEST(Generator, UndefinedOnesSaySo) {
  const Generator none;
  EXPECT_FALSE(none.defined());
  EXPECT_THROW(none.current_seed(), Error);
  EXPECT_THROW(GeneratorGuard{none}, Error);
}

TEST(DefaultGenerator, IsTheProcesss) {
  manual_seed(11);
  EXPECT_EQ(default_generator().current_seed(), 11u);
  EXPECT_EQ(default_generator(), detail::getDefaultCPUGenerator());
  std::thread([] { EXPECT_EQ(default_generator().current_seed(), 11u); }).join();
  EXPECT_THROW(default_generator(DeviceType::CUDA), NotImplementedError);
}

TEST(DefaultGenerator, AGuardReplacesItOnItsThread) {
  manual_seed(11);
  {
    const GeneratorGuard outer(make_generator(1));
    EXPECT_EQ(default_generator().current_seed(), 1u);
    {
      const GeneratorGuard inner(make_generator(2));
      EXPECT_EQ(default_generator().current_seed(), 2u);
      std::thread([] { EXPECT_EQ(default_generator().current_seed(), 11u); }).join();
    }
    manual_seed(3);
    EXPECT_EQ(default_generator().current_seed(), 3u);
  }
  EXPECT_EQ(default_generator().current_seed(), 11u);
}

}  // namespace
