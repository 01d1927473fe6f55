#include "nn/statistic.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

Tensor wide(const Tensor& x) { return astype(x, DType::kF32); }
Tensor rms_of(const Tensor& x) { return sqrt(mean(square(wide(x)))); }

}  // namespace

NamedStatistic Rms::operator()(const Tensor& x) const { return {"rms", rms_of(x)}; }

NamedStatistic MaxAbs::operator()(const Tensor& x) const {
  return {"max_abs", wide(reduce_max(abs(x), all_axes(x)))};
}

NamedStatistic ZeroFraction::operator()(const Tensor& x) const {
  return {"zeros", fraction_of(equal(x, 0))};
}

NamedStatistic OutlierFraction::operator()(const Tensor& x) const {
  return {"outliers", fraction_of(abs(wide(x)) > rms_of(x) * double(multiple))};
}

std::vector<Statistic> all_statistics() {
  return {Rms{}, MaxAbs{}, ZeroFraction{}, OutlierFraction{}};
}

AXLE_REGISTER(Rms)
AXLE_REGISTER(MaxAbs)
AXLE_REGISTER(ZeroFraction)
AXLE_REGISTER(OutlierFraction)

}  // namespace axle
