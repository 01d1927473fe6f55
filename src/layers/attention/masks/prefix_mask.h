// The mask of prefix language models.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 3.2.1.
#pragma once

#include <string>

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// Every query sees the first prefix_lengths[b] keys of its row b, and no others. In rows of
/// several segments, prefix_lengths[b, t] is for query t. A prefix language model uses
/// AnyOf{CausalMask, PrefixMask}, and an input with prompts (TextInput::Config::prompt).
///
/// Decoding: the prefix must be given in one call. Its tokens cannot see those of later calls.
/// Throws ConfigError in a training call without prefix_lengths.
class PrefixMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(PrefixMask)
  };
  PrefixMask(const Config&, const Dims&, const Scope& scope) : path_(scope.as_config()) {}
  Tensor operator()(const TokenPlaces& at) const override;
  bool can_decode() const override { return true; }

 private:
  std::string path_;
};

}  // namespace axle
