// Counts ThreadSanitizer's reports, for tests whose mistakes it must find. A program of such tests includes this in one
// of its sources, and does not fail because of the reports themselves.
#pragma once

namespace {
int tsan_reports = 0;
}

// ThreadSanitizer calls these two by name, the first one from the middle of itself, so that it must not see it.
extern "C" __attribute__((no_sanitize("thread"))) void __tsan_on_report(void*) {
  ++tsan_reports;
}
extern "C" const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_addresses=0";
}

namespace {

/// How many reports there were since the last call.
__attribute__((no_sanitize("thread"))) int take_tsan_reports() {
  const int taken = tsan_reports;
  tsan_reports = 0;
  return taken;
}

}  // namespace
