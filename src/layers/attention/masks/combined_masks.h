// Masks made of masks.
#pragma once

#include <memory>

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// A query sees the keys that all `masks` allow. Throws ConfigError at construction if `masks` is
/// empty.
class AllOf final : public AttentionMask {
 public:
  struct Config {
    /// The masks that all must allow a key.
    std::vector<Child<AttentionMask>> masks = {};
    AXLE_CONFIG(AllOf, masks)
  };
  AllOf(const Config& cfg, const Dims&, const Scope& scope);
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override;
  bool sees_itself() const override;
  bool can_decode() const override;
  Sight sight(const PlaceBlock& block) const override;
  std::vector<const AttentionMask*> conjuncts() const override;

 private:
  std::vector<std::unique_ptr<AttentionMask>> masks_;
};

/// A query sees the keys that any of `masks` allows. Throws ConfigError at construction if `masks`
/// is empty.
class AnyOf final : public AttentionMask {
 public:
  struct Config {
    /// The masks of which one must allow a key.
    std::vector<Child<AttentionMask>> masks = {};
    AXLE_CONFIG(AnyOf, masks)
  };
  AnyOf(const Config& cfg, const Dims&, const Scope& scope);
  Tensor operator()(const TokenPlaces& at) const override;
  bool is_causal() const override;
  bool sees_itself() const override;
  bool can_decode() const override;
  Sight sight(const PlaceBlock& block) const override;

 private:
  std::vector<std::unique_ptr<AttentionMask>> masks_;
};

}  // namespace axle
