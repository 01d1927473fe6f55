#include "modifiers/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Chain::Chain(const Config& cfg, const Dims&, const Scope& scope)
    : cfg_(cfg), path_(scope.path), allow_none_(may_find_none(scope)) {
  if (cfg_.modifiers.empty())
    throw ConfigError("Chain.modifiers: expected at least one modifier, got none");
}

std::vector<Rewrite> Chain::apply(ConfigRef root) const {
  std::vector<Rewrite> out;
  for (size_t i = 0; i < cfg_.modifiers.size(); ++i) {
    Child<Modifier> modifier = cfg_.modifiers[i];
    modifier.options.allow_none |= allow_none_;
    std::ranges::move(apply_modifier(modifier, fmt::format("{}.modifiers[{}]", path_, i), root),
                      std::back_inserter(out));
  }
  return out;
}

AXLE_REGISTER(Chain)

}  // namespace axle
