// x[i], x.index({...}), x.index_put_({...}, v) and assignment through them. Numbers, slices, None and "..." become
// views; what is left, tensors and bools, goes to the operators index and index_put_.
#include <gradus/core/indexing.h>
#include <gradus/ops/ops.h>

namespace gradus::inline v0 {

namespace {

using indexing::TensorIndex;
using indexing::TensorIndexType;

// The view that the simple indices make, and the index tensors that remain (absent: the whole dimension).
struct Selection {
  Tensor view;
  std::vector<std::optional<Tensor>> tensors;
};

bool is_mask(const Tensor& t) {
  return t.scalar_type() == kBool || t.scalar_type() == kByte;
}

// A tensor of one number selects as the number would.
bool is_number(const Tensor& t) {
  return t.dim() == 0 && !is_mask(t) && is_integral(t.scalar_type(), false);
}

// How many dimensions of the indexed tensor an index takes up.
int64_t dims_taken(const TensorIndex& index) {
  switch (index.type()) {
    case TensorIndexType::Integer:
    case TensorIndexType::Slice:
      return 1;
    case TensorIndexType::Tensor:
      GRADUS_CHECK(index.tensor().defined(),
                   "index: an undefined tensor was given as an index; expected None, or a tensor");
      return is_mask(index.tensor()) ? index.tensor().dim() : 1;
    default:
      return 0;
  }
}

Tensor index_of_bool(bool value, Device device) {
  const auto options = TensorOptions(kLong).device(device);
  return value ? zeros({1}, options) : empty({0}, options);
}

class Selector {
 public:
  Selector(const Tensor& self, ArrayRef<TensorIndex> indices) {
    GRADUS_CHECK_AS(IndexError, self.defined(), "index: an undefined tensor was given; expected one with elements");
    selection_.view = self;
    int64_t taken = 0;
    bool ellipsis = false;
    for (const TensorIndex& index : indices) {
      taken += dims_taken(index);
      GRADUS_CHECK_AS(IndexError, !(index.is_ellipsis() && ellipsis),
                      "index: more than one \"...\" was given; expected at most one");
      ellipsis = ellipsis || index.is_ellipsis();
    }
    GRADUS_CHECK_AS(IndexError, taken <= self.dim(), "index: ", taken, " dimensions are indexed; the tensor of shape ",
                    self.sizes(), " has ", self.dim());
    rest_ = self.dim() - taken;
    for (const TensorIndex& index : indices) apply(index);
  }
  Selection take() { return std::move(selection_); }

 private:
  void apply(const TensorIndex& index) {
    Tensor& view = selection_.view;
    switch (index.type()) {
      case TensorIndexType::None:
        view = view.unsqueeze(dim_++);
        break;
      case TensorIndexType::Ellipsis:
        dim_ += rest_;
        break;
      case TensorIndexType::Integer:
        view = view.select(dim_, index.integer());
        break;
      case TensorIndexType::Boolean:
        view = view.unsqueeze(dim_);
        add(index_of_bool(index.boolean(), view.device()), 1);
        break;
      case TensorIndexType::Slice: {
        const indexing::Slice& s = index.slice();
        GRADUS_CHECK_AS(ValueError, s.step_ > 0, "index: a slice with step ", s.step_, "; expected a step above 0");
        if (s.start_ || s.stop_ || s.step_ != 1) view = view.slice(dim_, s.start_, s.stop_, s.step_);
        ++dim_;
        break;
      }
      case TensorIndexType::Tensor:
        apply_tensor(index.tensor());
        break;
    }
  }

  void apply_tensor(const Tensor& index) {
    Tensor& view = selection_.view;
    if (is_number(index)) {
      view = view.select(dim_, index.item<int64_t>());
    } else if (is_mask(index) && index.dim() == 0) {
      view = view.unsqueeze(dim_);
      add(index_of_bool(index.item<bool>(), view.device()), 1);
    } else {
      add(index, is_mask(index) ? index.dim() : 1);
    }
  }

  // Lists an index tensor for the dimensions from dim_ on; a mask stands once for all that it covers.
  void add(Tensor index, int64_t dims) {
    for (; listed_ < dim_; ++listed_) selection_.tensors.emplace_back();
    selection_.tensors.emplace_back(std::move(index));
    listed_ += dims;
    dim_ += dims;
  }

  Selection selection_;
  int64_t dim_ = 0;     // the view's next dimension
  int64_t listed_ = 0;  // dimensions that the list covers
  int64_t rest_ = 0;    // what "..." stands for
};

Tensor read(const Tensor& self, ArrayRef<TensorIndex> indices) {
  Selection s = Selector(self, indices).take();
  if (!s.tensors.empty()) return s.view.index(s.tensors);
  // Indices that change nothing give a view all the same: assigning to it must not rebind the tensor itself.
  return s.view.is_same(self) ? gradus::alias(self) : s.view;
}

void write(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& values) {
  Selection s = Selector(self, indices).take();
  if (!s.tensors.empty()) {
    s.view.index_put_(s.tensors, values.to(s.view.scalar_type()));
    return;
  }
  // Leading dimensions of size 1 that the target does not have are dropped, as in NumPy.
  Tensor v = values;
  while (v.dim() > s.view.dim() && v.size(0) == 1) v = v.squeeze(0);
  s.view.copy_(v);
}

Tensor number(const Tensor& self, const Scalar& value) {
  return full({}, value, TensorOptions(self.scalar_type()).device(self.device()));
}

}  // namespace

Tensor Tensor::operator[](int64_t index) const {
  return select(0, index);
}
Tensor Tensor::operator[](const Scalar& index) const {
  GRADUS_CHECK_AS(TypeError, index.isIntegral(false), "operator[]: ", index, " was given; expected an integer");
  return select(0, index.toLong());
}
Tensor Tensor::operator[](const Tensor& index) const {
  GRADUS_CHECK_AS(TypeError, index.defined() && is_number(index),
                  "operator[]: expected a 0-dim tensor of an integer type as the index");
  return select(0, index.item<int64_t>());
}

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return read(*this, ArrayRef<TensorIndex>(indices));
}
Tensor Tensor::index(ArrayRef<TensorIndex> indices) const {
  return read(*this, indices);
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) const {
  return index_put_(ArrayRef<TensorIndex>(indices), values);
}
Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) const {
  return index_put_(ArrayRef<TensorIndex>(indices), value);
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Tensor& values) const {
  write(*this, indices, values);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::index_put_(ArrayRef<TensorIndex> indices, const Scalar& value) const {
  write(*this, indices, number(*this, value));
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::operator=(const Tensor& o) && {
  return copy_(o);
}
Tensor& Tensor::operator=(Tensor&& o) && {
  return copy_(o);
}
Tensor& Tensor::operator=(const Scalar& v) && {
  return fill_(v);
}

}  // namespace gradus::inline v0
