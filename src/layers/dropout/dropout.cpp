#include "layers/dropout/dropout.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"
#include "nn/statistic.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/random/random_part.h"
#include "ops/reductions/reductions.h"

namespace axle {

Dropout::Dropout(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate) {}

bool Dropout::drops() const { return rate_ != 0 && Invocation::current().options().training; }

Tensor Dropout::without(const Tensor& dropped, const Tensor& x) const {
  return select(dropped, 0, x) / (1 - rate_);
}

Tensor Dropout::forward(const Tensor& x) {
  if (!drops()) return x;
  return without(random::bernoulli(Invocation::current().key(), x.shape(), rate_), x);
}

Dropout::OfPart Dropout::of_parts(const Shape& whole) {
  const Invocation::Frame call(*this);
  if (!drops()) return [](const Tensor& part, const Values&) { return part; };
  const random::Key key = Invocation::current().key();
  return [=, this](const Tensor& part, const Values& begin) {
    return without(random::bernoulli(key, random::Part{whole, begin, part.shape()}, rate_), part);
  };
}

AXLE_REGISTER(Dropout::Dims)
AXLE_REGISTER(Dropout)

template class LayerRole<Dropout, Dropout::Signature>;

StochasticDepth::StochasticDepth(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate), mode_(cfg.mode) {}

Tensor StochasticDepth::forward(const Tensor& x) {
  Invocation& inv = Invocation::current();
  if (rate_ == 0 || !inv.options().training) return x;
  Shape shape(x.shape().size(), 1);
  if (mode_ == DropUnit::kRow) shape[0] = x.dim(0);
  // Drawn in f32 for any dtype of x, which may be too coarse for the rate.
  const Tensor kept = random::uniform(inv.key(), shape) + (1 - rate_) >= 1.0;
  return select(kept, x, 0) / (1 - rate_);
}

AXLE_REGISTER(StochasticDepth::Dims)
AXLE_REGISTER(StochasticDepth)

namespace {

// Moves a share of the tokens of each row to its front, then its padding, then its other tokens.
// Each part keeps the order in which `order` lists it.
Tensor tokens_first(const Tensor& order_BT, const Tensor& is_token_BT, double share) {
  const int64_t length = order_BT.dim(1);
  const Tensor token_BT =
      astype(take_along_axis(astype(is_token_BT, DType::kI32), order_BT, 1), DType::kI32);
  const Tensor number_BT = cumsum(token_BT, 1);
  const Tensor count_B1 = astype(reduce_sum(token_BT, {1}, true), DType::kF32);
  const Tensor kept_B1 = astype(round_nearest_even(count_B1 * share), DType::kI32);
  const Tensor part_BT =
      select(equal(token_BT, 0), 1, select(number_BT <= kept_B1, 0, full_like(token_BT, 2)));
  return take_along_axis(order_BT, argsort(part_BT * length + iota(order_BT.shape(), 1)), 1);
}

}  // namespace

DropToken::DropToken(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate), num_first_(cfg.num_first) {}

Tensor DropToken::forward(const Tensor& x_BTD) {
  Invocation& inv = Invocation::current();
  if (!inv.options().training) return x_BTD;
  const int64_t length = x_BTD.dim(1), num_others = length - num_first_;
  const double wanted = std::nearbyint((1 - rate_) * static_cast<double>(num_others));
  if (num_others <= 0 || wanted < 1) {
    throw ShapeError(fmt::format("{}: expected rows of which a token is left, got {}", path(),
                                 to_text(x_BTD.type())));
  }
  const auto kept = static_cast<int64_t>(wanted);
  if (kept == num_others) return x_BTD;
  const Tensor ids_BT = iota({x_BTD.dim(0), num_others}, 1);
  Tensor order_BT = random::independent_permutation(inv.key(), ids_BT, 1);
  if (real_tokens(x_BTD)) {
    const Tensor& segments_BT = *inv.segment_ids();
    const Tensor others_BT = slice_in_dim(segments_BT, 1, num_first_, length);
    order_BT = tokens_first(order_BT, not_equal(others_BT, 0), 1 - rate_);
    const Tensor kept_BT = take_along_axis(others_BT, slice_in_dim(order_BT, 1, 0, kept), 1);
    add_output("segment_ids",
               concatenate({slice_in_dim(segments_BT, 1, 0, num_first_), kept_BT}, 1));
  }
  const Tensor others =
      batched_take(slice_in_dim(x_BTD, 1, num_first_, length), slice_in_dim(order_BT, 1, 0, kept));
  if (num_first_ == 0) return others;
  return concatenate({slice_in_dim(x_BTD, 1, 0, num_first_), others}, 1);
}

AXLE_REGISTER(DropToken::Dims)
AXLE_REGISTER(DropToken)

}  // namespace axle
