#include "layers/dropout/drop_token.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"
#include "ops/create.h"
#include "ops/movement/index.h"
#include "ops/movement/slice.h"
#include "ops/random/random.h"

namespace axle {

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
  const Tensor order_BT = random::independent_permutation(inv.key(), ids_BT, 1);
  const Tensor others =
      batched_take(slice_in_dim(x_BTD, 1, num_first_, length), slice_in_dim(order_BT, 1, 0, kept));
  if (num_first_ == 0) return others;
  return concatenate({slice_in_dim(x_BTD, 1, 0, num_first_), others}, 1);
}

AXLE_REGISTER(DropToken::Dims)
AXLE_REGISTER(DropToken)

}  // namespace axle
