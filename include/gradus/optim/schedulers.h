// Learning rate schedules. Call step() once after each epoch (or batch).
#pragma once

#include <gradus/optim/optimizer.h>

namespace gradus {
inline namespace v0 {
namespace optim {

/// Base of the schedules: knows how often step() was called and each group's first rate.
class GRADUS_API LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler();
  void step();
  /// The rates that the groups have now. Reading changes nothing.
  std::vector<double> get_last_lr() const;
  int64_t last_epoch() const { return last_epoch_; }
  void save(serialize::OutputArchive& archive) const;
  void load(serialize::InputArchive& archive);

 protected:
  /// The rate of a group after `last_epoch_` steps; `base` was its first, `now` is its last.
  virtual double next_lr(double base, double now) const = 0;
  int64_t last_epoch_ = 0;

 private:
  void take_in_new_groups();
  Optimizer& optimizer_;
  std::vector<double> base_lrs_;
};

/// lr = base * gamma^(k / step_size) after k steps.
/// See https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
class GRADUS_API StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);

 protected:
  double next_lr(double base, double now) const override;

 private:
  int64_t step_size_;
  double gamma_;
};

/// Half a cosine from the first rate down to eta_min in T_max steps, and back.
/// See https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
class GRADUS_API CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 protected:
  double next_lr(double base, double now) const override;

 private:
  int64_t t_max_;
  double eta_min_;
};

}  // namespace optim
}  // namespace v0
}  // namespace gradus
