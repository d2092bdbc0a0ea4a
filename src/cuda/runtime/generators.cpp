#include "generators.h"

#include <mutex>

#include "device.h"

namespace gradus::inline v0::cuda::runtime {

const Generator& generator_of(int device) {
  check_device("default_generator", device);
  struct One {
    std::once_flag made;
    Generator generator;
  };
  static One* const all = new One[kMaxDevices];  // a thread may still draw while the process ends
  One& one = all[device];
  std::call_once(one.made, [&] {
    one.generator = make_generator<CUDAGeneratorImpl>(static_cast<DeviceIndex>(device),
                                                      gradus::detail::getNonDeterministicRandom());
  });
  return one.generator;
}

}  // namespace gradus::inline v0::cuda::runtime
