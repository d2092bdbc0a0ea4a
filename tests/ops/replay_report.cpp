#include "ops/replay_report.h"

#include <fnmatch.h>

#include <fstream>
#include <sstream>

namespace replay {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

void Skips::read(const std::string& path) {
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    Line line;
    if (!(words >> line.pattern.entry) || line.pattern.entry[0] == '#') continue;
    words >> line.pattern.sample >> line.pattern.kind;
    line.text = text;
    lines_.push_back(line);
  }
}

bool Skips::match(const Check& check) {
  bool found = false;
  for (Line& line : lines_) {
    if (!matches(line.pattern.entry, check.entry) || !matches(line.pattern.sample, check.sample) ||
        !matches(line.pattern.kind, check.kind)) {
      continue;
    }
    line.used = found = true;
  }
  return found;
}

std::vector<std::string> Skips::unused() const {
  std::vector<std::string> result;
  for (const Line& line : lines_) {
    if (!line.used) result.push_back(line.text);
  }
  return result;
}

void Report::begin_call(const std::string& family, const std::string& entry, const std::string& sample) {
  family_ = family;
  entry_ = entry;
  sample_ = sample;
  failed_ = skipped_ = false;
  ++families_[family].calls;
}

void Report::end_call() {
  Counts& counts = families_[family_];
  counts.failed += failed_;
  counts.skipped += skipped_ && !failed_;
  counts.good += !failed_ && !skipped_;
}

bool Report::wants(const std::string& kind) {
  if (skips_.match({entry_, sample_, kind})) {
    skipped_ = true;
    return false;
  }
  ++families_[family_].checks[kind];
  return true;
}

void Report::result(const std::string& kind, const std::string& text) {
  if (text.empty()) return;
  failed_ = true;
  failures_.push_back(family_ + " " + entry_ + " " + sample_ + " " + kind + ": " + text);
}

Counts Report::total() const {
  Counts sum;
  for (const auto& [family, counts] : families_) {
    sum.calls += counts.calls;
    sum.good += counts.good;
    sum.failed += counts.failed;
    sum.skipped += counts.skipped;
  }
  return sum;
}

std::string Report::summary() const {
  std::ostringstream out;
  for (const auto& [family, counts] : families_) {
    out << family << ": " << counts.calls << " calls, " << counts.good << " as PyTorch, " << counts.failed
        << " failed, " << counts.skipped << " skipped (";
    const char* separator = "";
    for (const auto& [kind, count] : counts.checks) {
      out << separator << count << " " << kind;
      separator = ", ";
    }
    out << ")\n";
  }
  for (const auto& [op, count] : missing_) out << "missing: " << op << ", " << count << " calls\n";
  const Counts sum = total();
  out << "all: " << sum.calls << " calls, " << sum.good << " as PyTorch, " << sum.failed << " failed, " << sum.skipped
      << " skipped\n";
  return out.str();
}

}  // namespace replay
