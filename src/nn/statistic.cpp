#include "nn/statistic.h"

#include "config/register.h"
#include "nn/real_tokens.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/reductions/reduce.h"

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

}  // namespace axle
