// Replays PyTorch's draws: sequences of random operators from a seed, integers exactly and floats within 2 ULP.
#include <cmath>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "ops/replay_compare.h"
#include "ops/replay_file.h"

namespace replay {
namespace {

double two_ulp(gradus::ScalarType type) {
  switch (type) {
    case gradus::kDouble:
      return std::ldexp(1.0, -51);
    case gradus::kFloat:
      return std::ldexp(1.0, -22);
    case gradus::kHalf:
      return std::ldexp(1.0, -9);
    case gradus::kBFloat16:
      return std::ldexp(1.0, -6);
    default:
      return 0;
  }
}

TEST(Draws, AreThoseOfPyTorch) {
  const std::filesystem::path data = GRADUS_TEST_DATA "/../references/data/random.safetensors";
  const ReferenceFile file(data);
  int calls = 0, failures = 0;
  for (const json& sequence : file.metadata("sequences")) {
    gradus::manual_seed(sequence["seed"].get<uint64_t>());
    for (size_t i = 0; i < sequence["calls"].size(); ++i) {
      const json& call = sequence["calls"][i];
      const std::string name = call["op"];
      std::string text;
      try {
        const gradus::OperatorHandle op = gradus::get_operator(name);
        const gradus::Tensor got = gradus::call(op, make_arguments(file, call, op.schema(), {}).values)[0].toTensor();
        text = difference(got, file.tensor(call["outputs"][0]["t"]), {two_ulp(got.scalar_type()), 0});
      } catch (const std::exception& e) {
        text = e.what();
      }
      ++calls;
      if (text.empty()) continue;
      if (++failures <= 40) {
        ADD_FAILURE() << "seed " << sequence["seed"] << ", call " << i << ", " << name << call["args"] << ": " << text;
      }
    }
  }
  std::cout << calls << " draws, " << failures << " differ\n";
  EXPECT_GT(calls, 1000);
}

}  // namespace
}  // namespace replay
