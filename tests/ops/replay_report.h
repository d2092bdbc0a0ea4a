// What the replay found, and what it was told to leave out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace replay {

// Where a check belongs: "add", "float64_3", "gradient".
struct Check {
  std::string entry, sample, kind;
};

// The lines of replay_skips.txt.
class Skips {
 public:
  void read(const std::string& path);
  bool match(const Check& check);
  // Lines that matched nothing.
  std::vector<std::string> unused() const;

 private:
  struct Line {
    Check pattern;
    std::string text;
    bool used = false;
  };
  std::vector<Line> lines_;
};

struct Counts {
  int calls = 0, good = 0, failed = 0, skipped = 0;
  std::map<std::string, int> checks;
};

class Report {
 public:
  explicit Report(Skips skips) : skips_(std::move(skips)) {}

  void begin_call(const std::string& family, const std::string& entry, const std::string& sample);
  void end_call();
  // Whether the check is to be run; counts it.
  bool wants(const std::string& kind);
  // An empty text is a success.
  void result(const std::string& kind, const std::string& text);
  void missing(const std::string& op) { ++missing_[op]; }

  Counts total() const;
  std::vector<std::string> unused_skips() const { return skips_.unused(); }
  const std::vector<std::string>& failures() const { return failures_; }
  // The table, the missing operators.
  std::string summary() const;

 private:
  Skips skips_;
  std::map<std::string, Counts> families_;
  std::map<std::string, int> missing_;
  std::vector<std::string> failures_;
  std::string family_, entry_, sample_;
  bool failed_ = false, skipped_ = false;
};

}  // namespace replay
