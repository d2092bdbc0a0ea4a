// The order of samples, and taking it up again.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include <gradus/ops/ops.h>
#include <gradus/data.h>
#include <gradus/serialize.h>

namespace {

namespace samplers = gradus::data::samplers;

template <class Sampler>
std::vector<size_t> drain(Sampler& sampler, size_t batch_size = 3) {
  std::vector<size_t> all;
  while (auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}

template <class Sampler>
void move_place(const Sampler& from, Sampler& to) {
  gradus::serialize::OutputArchive out;
  from.save(out);
  std::stringstream stream;
  out.save_to(stream);
  gradus::serialize::InputArchive in;
  in.load_from(stream);
  to.load(in);
}

TEST(Samplers, Sequential) {
  samplers::SequentialSampler sampler(5);
  EXPECT_EQ(*sampler.next(2), (std::vector<size_t>{0, 1}));
  samplers::SequentialSampler other(5);
  move_place(sampler, other);
  EXPECT_EQ(drain(other), (std::vector<size_t>{2, 3, 4}));
  EXPECT_FALSE(other.next(1).has_value());
  other.reset(2);
  EXPECT_EQ(drain(other), (std::vector<size_t>{0, 1}));
}

TEST(Samplers, RandomIsAPermutationAndFollowsTheSeed) {
  gradus::manual_seed(3);
  samplers::RandomSampler sampler(20);
  sampler.reset();
  const auto first = drain(sampler);
  EXPECT_EQ(std::set<size_t>(first.begin(), first.end()).size(), 20u);
  sampler.reset();
  EXPECT_NE(drain(sampler), first);
  gradus::manual_seed(3);
  samplers::RandomSampler again(20);
  again.reset();
  EXPECT_EQ(drain(again), first);
}

TEST(Samplers, RandomGoesOnWhereItWas) {
  samplers::RandomSampler sampler(10), other(10);
  sampler.next(4);
  move_place(sampler, other);
  EXPECT_EQ(other.index(), 4u);
  EXPECT_EQ(drain(other), drain(sampler));
}

TEST(Samplers, APlaceOfAnotherSizeIsRefused) {
  samplers::SequentialSampler big(100), small(5);
  drain(big);
  EXPECT_THROW(move_place(big, small), gradus::Error);
}

TEST(Samplers, DistributedPartsCoverEverything) {
  for (const bool duplicates : {true, false}) {
    for (const size_t size : {0u, 1u, 10u, 11u}) {
      std::multiset<size_t> random, sequential;
      for (size_t rank = 0; rank < 3; ++rank) {
        samplers::DistributedRandomSampler r(size, 3, rank, duplicates);
        samplers::DistributedSequentialSampler s(size, 3, rank, duplicates);
        r.set_epoch(2);
        r.reset();
        for (const size_t i : drain(r)) random.insert(i);
        for (const size_t i : drain(s)) sequential.insert(i);
      }
      for (const auto* seen : {&random, &sequential}) {
        EXPECT_EQ(std::set<size_t>(seen->begin(), seen->end()).size(), size);
        EXPECT_EQ(seen->size(), duplicates ? (size + 2) / 3 * 3 : size) << size;
      }
    }
  }
  EXPECT_THROW(samplers::DistributedRandomSampler(4, 2, 2), gradus::ValueError);
  EXPECT_THROW(samplers::DistributedRandomSampler(4, 0, 0), gradus::ValueError);
}

TEST(Samplers, Stream) {
  samplers::StreamSampler sampler(7);
  std::vector<size_t> sizes;
  while (auto size = sampler.next(3)) sizes.push_back(*size);
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 3, 1}));
}

}  // namespace
