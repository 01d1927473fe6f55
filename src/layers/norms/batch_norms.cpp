#include "layers/norms/batch_norms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "layers/norms/norm.h"
#include "nn/statistic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

GroupNorm::GroupNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope), cfg_(cfg), scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})) {
  if (dims.input_dim % cfg.num_groups != 0) {
    note("num_groups", fmt::format("must divide the {} channels, got {}", int64_t{dims.input_dim},
                                   int64_t{cfg.num_groups}));
  }
  if (cfg.axes && std::ranges::find(*cfg.axes, 0) != cfg.axes->end())
    note("axes", "expected dims of one row, got 0, the dim of the batch");
  if (cfg.moments == GroupMoments::kLayerNorm)
    bias_ = param("bias", {.shape = {dims.input_dim}, .init = Zeros{}});
}

std::vector<int64_t> GroupNorm::reduced(const Tensor& x) const {
  const auto rank = std::ssize(x.shape());
  const int64_t channels = rank;  // their dim after the split
  std::vector<int64_t> out;
  if (!cfg_.axes) {
    for (int64_t axis = 1; axis < rank - 1; ++axis) out.push_back(axis);
  } else {
    for (const int64_t axis : *cfg_.axes) {
      const int64_t from_front = axis < 0 ? axis + rank : axis;
      if (from_front < 1 || from_front >= rank) {
        throw ShapeError(fmt::format("{}: axes: expected dims of x after the batch, got {} for {}",
                                     path(), axis, to_text(x.type())));
      }
      if (from_front < rank - 1) out.push_back(from_front);
    }
  }
  out.push_back(channels);
  return out;
}

Tensor GroupNorm::forward(const Tensor& x, const std::optional<Tensor>& segment_ids) {
  const Tensor wide = unflatten(astype(x, wide_dtype(x.dtype())), -1, {cfg_.num_groups, -1});
  const std::vector<int64_t> axes = reduced(x);
  const auto is_real = real_tokens(wide, segment_ids);
  if (!bias_) {
    const Tensor mean_square = mean_of_real(wide * wide, axes, is_real);
    const Tensor normed = wide * rsqrt(mean_square + cfg_.eps);
    return astype(flatten(normed, -2), x.dtype()) * scale_();
  }
  const Moments moments = moments_of_real(wide, axes, is_real);
  const Tensor normed = (wide - moments.mean) * rsqrt(moments.variance + cfg_.eps);
  return astype(flatten(normed, -2), x.dtype()) * scale_() + (*bias_)();
}

AXLE_REGISTER(GroupNorm)

BatchNorm::BatchNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope),
      cfg_(cfg),
      scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})),
      bias_(param("bias", {.shape = {dims.input_dim}, .init = Zeros{}})) {
  declare_state("moving_mean", {.shape = {dims.input_dim}});
  declare_state("moving_variance", {.shape = {dims.input_dim}, .init = Ones{}});
}

Tensor BatchNorm::forward(const Tensor& x, const std::optional<Tensor>& segment_ids) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  Moments moments{state("moving_mean"), state("moving_variance")};
  if (is_training()) {
    std::vector<int64_t> axes = all_axes(x);
    axes.pop_back();
    const auto is_real = real_tokens(wide, segment_ids);
    // A batch without a token has no statistics.
    const Tensor has_any = is_real ? reduce_or(*is_real, all_axes(*is_real)) : Tensor();
    const auto moved = [&](const char* name, const Tensor& of_batch) {
      const Tensor old = state(name), value = astype(flatten(of_batch), old.dtype());
      const Tensor next = cfg_.decay * old + (1 - cfg_.decay) * value;
      set_state(name, is_real ? select(has_any, next, old) : next);
    };
    moments = moments_of_real(wide, axes, is_real);
    moved("moving_mean", moments.mean);
    moved("moving_variance", moments.variance);
  }
  const Tensor centred = wide - astype(moments.mean, wide.dtype());
  const Tensor normed = centred * rsqrt(astype(moments.variance, wide.dtype()) + cfg_.eps);
  return astype(normed, x.dtype()) * scale_() + bias_();
}

AXLE_REGISTER(BatchNorm)

}  // namespace axle
