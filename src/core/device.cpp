#include <gradus/core/device.h>

namespace gradus::inline v0 {

namespace {
struct DeviceName {
  const char* name;
  DeviceType type;
};
constexpr DeviceName kNames[] = {{"cpu", DeviceType::CPU},
                                 {"cuda", DeviceType::CUDA},
                                 {"meta", DeviceType::Meta},
                                 {"privateuseone", DeviceType::PrivateUse1}};
}  // namespace

Device::Device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  bool known = false;
  for (const DeviceName& n : kNames) {
    if (kind == n.name) {
      type_ = n.type;
      known = true;
    }
  }
  GRADUS_CHECK_AS(ValueError, known, "Device: \"", text,
                  "\" was given; expected cpu, cuda, meta or privateuseone, and for one of several :N behind it");
  if (colon == std::string::npos) return;
  const std::string digits = text.substr(colon + 1);
  bool ok = !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0');
  int index = 0;
  for (char c : digits) {
    ok &= c >= '0' && c <= '9';
    index = ok ? index * 10 + (c - '0') : 0;
  }
  GRADUS_CHECK_AS(ValueError, ok && index <= 127, "Device: \"", text,
                  "\" was given; expected a number from 0 to 127 behind the colon");
  GRADUS_CHECK_AS(ValueError, type_ != DeviceType::CPU || index == 0, "Device: \"", text,
                  "\" was given; there is one cpu: cpu or cpu:0");
  index_ = static_cast<DeviceIndex>(index);
}

std::string Device::str() const {
  std::string s = "unknown";
  for (const DeviceName& n : kNames) {
    if (type_ == n.type) s = n.name;
  }
  if (has_index()) s += ":" + std::to_string(static_cast<int>(index_));
  return s;
}

}  // namespace gradus::inline v0
