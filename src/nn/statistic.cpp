#include "nn/statistic.h"

#include <algorithm>

#include "config/register.h"
#include "nn/invocation.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

Tensor wide(const Tensor& x) { return astype(x, DType::kF32); }
Tensor rms_of(const Tensor& x) { return sqrt(mean_of_tokens(square(wide(x)))); }

}  // namespace

NamedStatistic Rms::operator()(const Tensor& x) const { return {"rms", rms_of(x)}; }

NamedStatistic MaxAbs::operator()(const Tensor& x) const {
  return {"max_abs", wide(reduce_max(abs(without_padding(x)), all_axes(x)))};
}

NamedStatistic ZeroFraction::operator()(const Tensor& x) const {
  return {"zeros", mean_of_tokens(wide(equal(x, 0)))};
}

NamedStatistic OutlierFraction::operator()(const Tensor& x) const {
  return {"outliers", mean_of_tokens(wide(abs(wide(x)) > rms_of(x) * double(multiple)))};
}

std::vector<Statistic> all_statistics() {
  return {Rms{}, MaxAbs{}, ZeroFraction{}, OutlierFraction{}};
}

AXLE_REGISTER(Rms)
AXLE_REGISTER(MaxAbs)
AXLE_REGISTER(ZeroFraction)
AXLE_REGISTER(OutlierFraction)

namespace {

bool has_dims_in_front(const Tensor& x, const Shape& dims) {
  return x.shape().size() > dims.size() && std::equal(dims.begin(), dims.end(), x.shape().begin());
}

}  // namespace

std::optional<Tensor> real_tokens(const Tensor& x, const std::optional<Tensor>& segment_ids) {
  std::optional<Tensor> ids = segment_ids;
  if (!ids && Invocation::in_call()) {
    ids = Invocation::current().segment_ids();
    if (ids && !has_dims_in_front(x, ids->shape())) return std::nullopt;
  }
  if (!ids) return std::nullopt;
  Tensor out = not_equal(*ids, 0);
  while (out.rank() < x.rank()) out = expand_dims(out, -1);
  return out;
}

Tensor without_padding(const Tensor& x) {
  const auto is_real = real_tokens(x);
  return is_real ? select(*is_real, x, 0) : x;
}

Tensor mean_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                    const std::optional<Tensor>& is_real) {
  if (!is_real) return mean(x, axes, true);
  const Tensor total = reduce_sum(select(*is_real, x, 0), axes, true);
  const Tensor count = reduce_sum(select(*is_real, full_like(x, 1), 0), axes, true);
  return total / maximum(count, 1);
}

Tensor mean_of_tokens(const Tensor& x) {
  const auto is_real = real_tokens(x);
  return is_real ? reshape(mean_of_real(x, all_axes(x), is_real), {}) : mean(x);
}

std::optional<Tensor> has_tokens() {
  const std::optional<Tensor>& ids = Invocation::current().segment_ids();
  if (!ids) return std::nullopt;
  return reduce_or(not_equal(*ids, 0), all_axes(*ids));
}

}  // namespace axle
