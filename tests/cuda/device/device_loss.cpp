#include "support/device_loss.h"

namespace {
[[maybe_unused]] const bool watched = gradus_test::watch_for_device_loss();
}
