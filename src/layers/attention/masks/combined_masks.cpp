#include "layers/attention/masks/combined_masks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "ops/elementwise/bitwise.h"

namespace axle {
namespace {

using Masks = std::vector<std::unique_ptr<AttentionMask>>;

Masks built(const std::vector<Child<AttentionMask>>& configs, const Scope& scope) {
  if (configs.empty()) {
    throw ConfigError(
        fmt::format("{}: expected at least one mask, got none; leave the mask of attention "
                    "out if every query sees every key",
                    join_config_path(scope.as_config(), "masks")));
  }
  Masks out;
  for (size_t i = 0; i < configs.size(); ++i) {
    const std::string field = fmt::format("masks[{}]", i);
    out.push_back(configs[i].build(
        {}, {.path = scope.path, .config_path = join_config_path(scope.as_config(), field)}));
  }
  return out;
}

template <class Combine>
Tensor combined(const Masks& masks, const TokenPlaces& at, Combine combine) {
  Tensor out;
  for (const auto& mask : masks) {
    const Tensor own = (*mask)(at);
    out = out ? combine(out, own) : own;
  }
  return out;
}

bool is_causal(const std::unique_ptr<AttentionMask>& mask) { return mask->is_causal(); }
bool sees_itself(const std::unique_ptr<AttentionMask>& mask) { return mask->sees_itself(); }
bool can_decode(const std::unique_ptr<AttentionMask>& mask) { return mask->can_decode(); }

}  // namespace

AllOf::AllOf(const Config& cfg, const Dims&, const Scope& scope)
    : masks_(built(cfg.masks, scope)) {}

Tensor AllOf::operator()(const TokenPlaces& at) const {
  return combined(masks_, at, [](const Tensor& a, const Tensor& b) { return a & b; });
}
bool AllOf::is_causal() const { return std::ranges::any_of(masks_, axle::is_causal); }
bool AllOf::sees_itself() const { return std::ranges::all_of(masks_, axle::sees_itself); }
bool AllOf::can_decode() const {
  return is_causal() || std::ranges::all_of(masks_, axle::can_decode);
}
Sight AllOf::sight(const PlaceBlock& block) const {
  Sight out = Sight::kAll;
  for (const auto& mask : masks_) out = both(out, mask->sight(block));
  return out;
}
std::vector<const AttentionMask*> AllOf::conjuncts() const {
  std::vector<const AttentionMask*> out;
  for (const auto& mask : masks_) {
    for (const AttentionMask* part : mask->conjuncts()) out.push_back(part);
  }
  return out;
}

AnyOf::AnyOf(const Config& cfg, const Dims&, const Scope& scope)
    : masks_(built(cfg.masks, scope)) {}

Tensor AnyOf::operator()(const TokenPlaces& at) const {
  return combined(masks_, at, [](const Tensor& a, const Tensor& b) { return a | b; });
}
bool AnyOf::is_causal() const { return std::ranges::all_of(masks_, axle::is_causal); }
bool AnyOf::sees_itself() const { return std::ranges::any_of(masks_, axle::sees_itself); }
bool AnyOf::can_decode() const { return std::ranges::all_of(masks_, axle::can_decode); }
Sight AnyOf::sight(const PlaceBlock& block) const {
  Sight out = Sight::kNone;
  for (const auto& mask : masks_) out = either(out, mask->sight(block));
  return out;
}

AXLE_REGISTER(AllOf)
AXLE_REGISTER(AnyOf)

}  // namespace axle
