// Replays PyTorch's answers to its own operator test database (tests/references) through gradus::call: results, memory
// layout, views, gradients, in-place and out forms, errors.
//
// With GRADUS_REPLAY_DEVICE=cuda:0 all is replayed there, but for draws, which are other ones on another device.
// GRADUS_REPLAY=pattern replays only matching entries; GRADUS_REPLAY_LOG=file receives every failure (the test shows
// the first ones); GRADUS_REPLAY_TRACE=1 names each call ("> ...") before it runs and each
// failure ("! ...") at once, and ends where the device is lost. GRADUS_REPLAY_FILE=name replays one file of
// references/data, GRADUS_REPLAY_FROM=n leaves out its first n calls: so a call that ends the process costs no others.
// GRADUS_REPLAY_FOLDER is where replay_skips.txt lies, if not in the sources.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include <gradus/cuda/backends.h>
#include <gradus/cuda/cuda.h>

#include "ops/replay_compare.h"
#include "ops/replay_file.h"
#include "ops/replay_report.h"
#include "support/device_loss.h"

namespace replay {
namespace {

using gradus::IValue;
using gradus::OperatorHandle;
using gradus::Tensor;

// Values as tensors and the rest, a list of tensors as its members.
std::vector<IValue> flatten(const std::vector<IValue>& values) {
  std::vector<IValue> flat;
  for (const IValue& value : values) {
    if (value.isTensorList()) {
      for (const Tensor& t : value.toTensorVector()) flat.emplace_back(t);
    } else {
      flat.push_back(value);
    }
  }
  return flat;
}

std::vector<Tensor> tensors_of(const std::vector<std::pair<std::string, Tensor>>& named) {
  std::vector<Tensor> result;
  for (const auto& [name, t] : named) result.push_back(t);
  return result;
}

bool overlaps_itself(const Tensor& t) {
  std::vector<int64_t> offsets = {0};
  for (int64_t d = 0; d < t.dim(); ++d) {
    const std::vector<int64_t> outer = std::exchange(offsets, {});
    for (const int64_t offset : outer) {
      for (int64_t i = 0; i < t.size(d); ++i) offsets.push_back(offset + i * t.stride(d));
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

// Out forms by the function's name, matched by the names of the arguments.
class OutForms {
 public:
  OutForms() {
    for (const OperatorHandle& op : gradus::all_operators()) {
      if (op.is_out()) forms_[std::string(op.name())].push_back(op);
    }
  }

  std::optional<OperatorHandle> find(const OperatorHandle& function) const {
    const auto it = forms_.find(std::string(function.name()));
    if (it == forms_.end()) return std::nullopt;
    for (const OperatorHandle& op : it->second) {
      if (inputs_of(op) == inputs_of(function)) return op;
    }
    return std::nullopt;
  }

 private:
  static std::vector<std::string> inputs_of(const OperatorHandle& op) {
    std::vector<std::string> result;
    for (const gradus::SchemaArgument& a : op.schema().arguments) {
      if (!a.written) result.push_back(a.name + " " + a.type.text);
    }
    return result;
  }

  std::map<std::string, std::vector<OperatorHandle>> forms_;
};

// One call of a file, in all its forms.
class CallReplay {
 public:
  CallReplay(const ReferenceFile& file, const json& call, const OperatorHandle& op, const OutForms& outs,
             Report& report)
      : file_(file), call_(call), op_(op), outs_(outs), report_(report), base_(op.name().substr(6)) {
    // a + alpha * b is off by a part of the product, like addcmul.
    scaled_ = (base_ == "add" || base_ == "sub") && call["args"].size() > 2;
  }

  void run() {
    if (call_.contains("error")) return check("error", [&] { return error(); });
    check("forward", [&] { return forward(); });
    if (!forward_done_) return;
    check("layout", [&] { return layout(); });
    check("view", [&] { return views(); });
    if (call_.contains("mutated")) check("mutated", [&] { return mutated(); });
    if (call_.contains("cotangents") && call_["dtype"] == "float64") {
      check("gradient", [&] { return gradients(arguments_, results_); });
    }
    if (undefined()) return;
    arguments_ = {};
    if (const auto form = in_place_form()) check("inplace", [&] { return in_place(*form); });
    if (const auto form = outs_.find(op_)) check("out", [&] { return out(*form); });
  }

 private:
  template <class F>
  void check(const std::string& kind, F body) {
    if (!report_.wants(kind)) return;
    std::string text;
    try {
      text = body();
    } catch (const std::exception& e) {
      text = std::string("threw: ") + e.what();
    }
    report_.result(kind, text);
  }

  std::vector<IValue> call(const OperatorHandle& op, const std::vector<IValue>& values,
                           std::vector<std::pair<std::string, IValue>> outs = {}) const {
    if (call_.contains("seed")) gradus::manual_seed(call_["seed"].get<uint64_t>());
    return flatten(gradus::call(op, values, std::move(outs)));
  }

  Arguments fresh(Making making = {}) const { return make_arguments(file_, call_, op_.schema(), making); }

  bool undefined() const {
    const json& first = call_["outputs"].empty() ? json() : call_["outputs"][0];
    return first.is_object() && first.contains("sizes");
  }

  std::string forward() {
    arguments_ = fresh({.with_gradients = true});
    for (const Tensor& t : tensors_of(fresh().tensors)) inputs_.push_back(on_cpu(t));  // as they were before the call
    results_ = call(op_, arguments_.values);
    const json& want = call_["outputs"];
    if (results_.size() != want.size()) return gradus::str(results_.size(), " results instead of ", want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const std::string text = output(results_[i], want[i]);
      if (!text.empty()) return gradus::str("result ", i, ": ", text);
    }
    forward_done_ = true;
    return "";
  }

  std::string output(const IValue& got, const json& want) const {
    if (want.is_boolean()) return got.toBool() == want.get<bool>() ? "" : got.str() + " instead of " + want.dump();
    if (want.is_number())
      return got.toScalar().toDouble() == want.get<double>() ? "" : got.str() + " instead of " + want.dump();
    if (want.contains("sizes")) {
      const Tensor& t = got.toTensor();
      const bool same = t.sizes().vec() == want["sizes"].get<std::vector<int64_t>>() &&
                        static_cast<int>(t.scalar_type()) == want["dtype"].get<int>();
      return same ? "" : got.str() + " instead of " + want.dump();
    }
    const Tensor expected = file_.tensor(want["t"]);
    return difference(on_cpu(got.toTensor()), expected,
                      forward_tolerance(scaled_ ? "addcmul" : base_, expected, inputs_));
  }

  std::string layout() const {
    for (size_t i = 0; i < results_.size(); ++i) {
      const json& want = call_["outputs"][i];
      if (!results_[i].isTensor() || results_[i].toTensor().numel() == 0) continue;
      const Tensor& t = results_[i].toTensor();
      std::vector<int64_t> strides(static_cast<size_t>(t.dim()), 1);
      for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * t.sizes()[d];
      if (want.contains("strides")) strides = want["strides"].get<std::vector<int64_t>>();
      for (size_t d = 0; d < strides.size(); ++d) {
        if (t.sizes()[d] != 1 && t.strides()[d] != strides[d]) {
          return gradus::str("result ", i, " has strides ", t.strides(), " instead of ", gradus::IntArrayRef(strides));
        }
      }
    }
    return "";
  }

  std::string views() const {
    for (size_t i = 0; i < results_.size(); ++i) {
      if (!results_[i].isTensor()) continue;
      std::string got, want = call_["outputs"][i].value("view_of", "");
      for (const auto& [name, t] : arguments_.tensors) {
        if (results_[i].toTensor().is_alias_of(t)) got = name;
      }
      if (got != want) return gradus::str("result ", i, " is a view of '", got, "' instead of '", want, "'");
    }
    return "";
  }

  std::string mutated() const {
    for (const auto& [name, key] : call_["mutated"].items()) {
      for (const auto& [argument, t] : arguments_.tensors) {
        const Tensor want = file_.tensor(key.get<std::string>());
        const std::string text =
            argument == name
                ? difference(on_cpu(t), want, forward_tolerance(scaled_ ? "addcmul" : base_, want, inputs_))
                : "";
        if (!text.empty()) return gradus::str(name, ": ", text);
      }
    }
    return "";
  }

  std::string gradients(const Arguments& arguments, const std::vector<IValue>& results) const {
    std::vector<Tensor> outputs, cotangents;
    const json& stored = call_["cotangents"];
    for (size_t i = 0; i < stored.size(); ++i) {
      const Tensor& result = results.at(i).toTensor();
      if (result.requires_grad() == stored[i].is_null()) return gradus::str("requires_grad of result ", i, " is wrong");
      if (stored[i].is_null()) continue;
      outputs.push_back(result);
      cotangents.push_back(file_.tensor(stored[i]["t"]));
    }
    std::vector<Tensor> there;
    for (const Tensor& t : cotangents) there.push_back(on_device(t));
    const auto got = gradus::autograd::grad(outputs, arguments.leaves, there, std::nullopt, false, true);
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string& key = arguments.gradient_keys[i];
      if (key.empty() && !got[i].defined()) continue;
      const Tensor want = key.empty() ? on_cpu(gradus::call("aten::zeros_like", {arguments.leaves[i]})[0].toTensor())
                                      : file_.tensor(key);
      const std::string text = difference(on_cpu(got[i]), want, gradient_tolerance(want, inputs_, cotangents));
      if (!text.empty()) return gradus::str("gradient ", i, ": ", text);
    }
    return "";
  }

  std::optional<OperatorHandle> in_place_form() const {
    const std::string overload(op_.overload());
    const bool tensor_first = !inputs_.empty() && !op_.schema().arguments.empty() && call_["args"][0].is_object() &&
                              call_["args"][0].contains("t");
    if (!tensor_first || results_.size() != 1 || !results_[0].isTensor()) return std::nullopt;
    return gradus::find_operator("aten::" + base_ + "_" + (overload.empty() ? "" : "." + overload));
  }

  std::string in_place(const OperatorHandle& form) const {
    const Tensor& want = results_[0].toTensor();
    Arguments arguments = fresh();
    const Tensor self = arguments.values[0].toTensor();
    if (shares_memory()) return "";
    if (!op_.is_view() && (!gradus::can_cast(want.scalar_type(), self.scalar_type()) || overlaps_itself(self) ||
                           want.sizes().vec() != self.sizes().vec())) {
      return must_throw(base_, [&] { call(form, arguments.values); });
    }
    const std::vector<IValue> returned = call(form, arguments.values);
    if (!returned.at(0).toTensor().is_same(self)) return "returned another tensor";
    const bool same_type = want.scalar_type() == self.scalar_type();
    const Tensor cast = gradus::call("aten::to.dtype", {want, self.scalar_type()})[0].toTensor();
    std::string text =
        difference(on_cpu(self), on_cpu(cast),
                   same_type ? Tolerance() : forward_tolerance(scaled_ ? "addcmul" : base_, on_cpu(cast), inputs_));
    if (!text.empty() || !same_type || op_.is_view() || !call_.contains("cotangents") || call_["dtype"] != "float64")
      return text;
    arguments = fresh({.with_gradients = true, .copy_first = true});
    text = gradients(arguments, call(form, arguments.values));
    return text.empty() ? "" : "in-place " + text;
  }

  bool shares_memory() const { return call_["args"].dump().find("\"storage\"") != std::string::npos; }

  // Into empty tensors, which grow, and into ones of the right size, which stay where they are.
  std::string out(const OperatorHandle& form) const {
    std::vector<std::string> names;
    for (const gradus::SchemaArgument& a : form.schema().arguments) {
      if (a.written) names.push_back(a.name);
    }
    if (names.size() != results_.size())
      return gradus::str(names.size(), " out arguments for ", results_.size(), " results");
    for (const bool sized : {false, true}) {
      std::vector<std::pair<std::string, IValue>> outs;
      std::vector<const void*> memory;
      for (size_t i = 0; i < names.size(); ++i) {
        const Tensor& want = results_[i].toTensor();
        const Tensor t =
            on_device(make_tensor(sized ? want.sizes().vec() : std::vector<int64_t>{0}, want.scalar_type()));
        memory.push_back(t.numel() ? t.data_ptr() : nullptr);
        outs.emplace_back(names[i], t);
      }
      call(form, fresh().values, outs);
      for (size_t i = 0; i < outs.size(); ++i) {
        const Tensor& t = outs[i].second.toTensor();
        const std::string text = difference(on_cpu(t), on_cpu(results_[i].toTensor()), {});
        if (!text.empty()) return gradus::str(sized ? "sized " : "empty ", names[i], ": ", text);
        if (memory[i] && t.data_ptr() != memory[i]) return names[i] + " moved though it had the right size";
      }
    }
    return "";
  }

  std::string error() const {
    const Arguments arguments = fresh();
    return must_throw(base_, [&] { call(op_, arguments.values); });
  }

  // The text must begin with the operator's name, as a word or with what marks a form (add_, add_out).
  template <class F>
  static std::string must_throw(const std::string& name, F body) {
    try {
      body();
      if (replay_device().is_cuda()) gradus::cuda::synchronize();  // where errors in the data come to light
    } catch (const gradus::Error& e) {
      const std::string text = e.what();
      const size_t end = name.size();
      if (text.compare(0, end, name) == 0 && text.size() > end && !std::isalnum(static_cast<unsigned char>(text[end])))
        return "";
      return "the error's text does not begin with the operator's name: " + text;
    }
    return "did not throw";
  }

  const ReferenceFile& file_;
  const json& call_;
  OperatorHandle op_;
  const OutForms& outs_;
  Report& report_;
  std::string base_;
  Arguments arguments_;
  std::vector<Tensor> inputs_;
  std::vector<IValue> results_;
  bool forward_done_ = false, scaled_ = false;
};

void replay_family(const std::string& path, const OutForms& outs, Report& report) {
  const ReferenceFile file(path);
  const std::string family = std::filesystem::path(path).stem();
  const char* pattern = std::getenv("GRADUS_REPLAY");
  const char* from = std::getenv("GRADUS_REPLAY_FROM");
  int64_t left_out = from ? std::atoll(from) : 0;
  const bool trace = std::getenv("GRADUS_REPLAY_TRACE") != nullptr;
  size_t told = report.failures().size();
  for (const json& call : file.metadata("calls")) {
    if (left_out-- > 0) continue;
    const std::string entry = call["entry"], sample = call["sample"], name = call["op"];
    if (pattern && fnmatch(pattern, entry.c_str(), 0) != 0) continue;
    if (trace) std::cout << "> " << family << " " << entry << " " << sample << std::endl;
    const auto op = gradus::find_operator(name);
    report.begin_call(family, op ? entry : name, sample);
    if (op && replay_device().is_cuda() && call.contains("seed")) {
      report.end_call();
      continue;
    }
    if (op) {
      CallReplay(file, call, *op, outs, report).run();
    } else {
      report.missing(name);
      if (report.wants("missing")) report.result("missing", "there is no " + name);
    }
    report.end_call();
    if (!trace) continue;
    for (; told < report.failures().size(); ++told) {
      std::string text = report.failures()[told];
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "! " << text << std::endl;
    }
    if (replay_device().is_cuda()) gradus_test::stop_if_device_is_lost();
  }
}

Tensor of(std::vector<double> values) {
  const Tensor t = make_tensor({static_cast<int64_t>(values.size())}, gradus::kDouble);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}

TEST(Replay, NoticesWhatDiffers) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(difference(of({1, nan, infinity}), of({1, nan, infinity}), {}), "");
  EXPECT_NE(difference(of({nan}), of({1}), {1, 1}), "");
  EXPECT_NE(difference(of({1}), of({nan}), {1, 1}), "");
  EXPECT_NE(difference(of({-infinity}), of({infinity}), {1, 1}), "");
  EXPECT_NE(difference(of({1e300}), of({infinity}), {1, 1}), "");
  EXPECT_NE(difference(of({1.1}), of({1}), {0.05, 0}), "");
  EXPECT_EQ(difference(of({1.1}), of({1}), {0.05, 0.06}), "");
  EXPECT_NE(difference(of({1, 1}), of({1}), {1, 1}), "");
  EXPECT_NE(difference(of({1}), make_tensor({1}, gradus::kFloat), {1, 1}), "");
}

TEST(Replay, AnswersAsPyTorch) {
  const char* folder = std::getenv("GRADUS_REPLAY_FOLDER");
  const std::filesystem::path here = folder ? folder : GRADUS_TEST_DATA, data = here / ".." / "references" / "data";
  gradus::cuda::set_cudnn_allow_tf32(false);  // results are compared as floats
  Skips skips;
  skips.read(here / "replay_skips.txt");
  if (replay_device().is_cuda()) skips.read(here / "replay_skips_cuda.txt");
  Report report(std::move(skips));
  const OutForms outs;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    const std::string name = entry.path().stem();
    if (name != "random" && name != "init" && name != "optim") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GE(paths.size(), 13U);
  const char* only = std::getenv("GRADUS_REPLAY_FILE");
  for (const std::string& path : paths) {
    if (!only || std::filesystem::path(path).stem() == only) replay_family(path, outs, report);
  }

  std::cout << report.summary();
  if (const char* log = std::getenv("GRADUS_REPLAY_LOG")) {
    std::ofstream file(log);
    for (const std::string& failure : report.failures()) file << failure << "\n";
  }
  for (size_t i = 0; i < report.failures().size() && i < 40; ++i) ADD_FAILURE() << report.failures()[i];
  const Counts total = report.total();
  EXPECT_EQ(total.failed, 0);
  if (only) return;  // a part: what follows is about all of them
  EXPECT_LE(total.skipped * 50, total.calls) << "more than 2 % are skipped";
  if (!std::getenv("GRADUS_REPLAY") && replay_device().is_cpu()) {
    for (const std::string& line : report.unused_skips()) ADD_FAILURE() << "this skip matches nothing: " << line;
  }
}

}  // namespace
}  // namespace replay
