#include <gradus/optim/schedulers.h>

#include <cmath>

#include <gradus/core/ivalue.h>
#include <gradus/serialize/archive.h>

namespace gradus::inline v0::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  take_in_new_groups();
}
LRScheduler::~LRScheduler() = default;

// Groups that were added to the optimizer since start from the rate they came with.
void LRScheduler::take_in_new_groups() {
  const auto& groups = optimizer_.param_groups();
  while (base_lrs_.size() < groups.size()) base_lrs_.push_back(groups[base_lrs_.size()].options().get_lr());
}

void LRScheduler::step() {
  take_in_new_groups();
  ++last_epoch_;
  auto& groups = optimizer_.param_groups();
  for (size_t g = 0; g < groups.size(); ++g)
    groups[g].options().set_lr(next_lr(base_lrs_[g], groups[g].options().get_lr()));
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> r;
  for (const auto& g : optimizer_.param_groups()) r.push_back(g.options().get_lr());
  return r;
}

void LRScheduler::save(serialize::OutputArchive& archive) const {
  archive.write("last_epoch", IValue(last_epoch_));
  archive.write("base_lrs", IValue(base_lrs_));
}
void LRScheduler::load(serialize::InputArchive& archive) {
  IValue epoch, base;
  archive.read("last_epoch", epoch);
  archive.read("base_lrs", base);
  const auto& rates = base.toDoubleVector();
  GRADUS_CHECK(rates.size() <= optimizer_.param_groups().size(), "load: the file has rates for ", rates.size(),
               " groups; the optimizer has ", optimizer_.param_groups().size());
  last_epoch_ = epoch.toInt();
  base_lrs_ = rates;
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  GRADUS_CHECK_AS(ValueError, step_size >= 1, "StepLR: step_size is ", step_size, "; expected at least 1");
}
double StepLR::next_lr(double, double now) const {
  return last_epoch_ % step_size_ == 0 ? now * gamma_ : now;
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), t_max_(T_max), eta_min_(eta_min) {
  GRADUS_CHECK_AS(ValueError, T_max >= 1, "CosineAnnealingLR: T_max is ", T_max, "; expected at least 1");
}
double CosineAnnealingLR::next_lr(double base, double now) const {
  const double angle = M_PI / static_cast<double>(t_max_);
  if ((last_epoch_ - 1 - t_max_) % (2 * t_max_) == 0) return now + (base - eta_min_) * (1 - std::cos(angle)) / 2;
  const double k = static_cast<double>(last_epoch_);
  return (1 + std::cos(angle * k)) / (1 + std::cos(angle * (k - 1))) * (now - eta_min_) + eta_min_;
}

}  // namespace gradus::inline v0::optim
