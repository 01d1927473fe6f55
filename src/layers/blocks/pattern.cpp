#include "layers/blocks/pattern.h"

#include "config/register.h"

namespace axle {
namespace {

Child<Block> stack_of(std::vector<Child<Block>> layers) {
  const auto count = static_cast<int64_t>(layers.size());
  return Stacked::Config{.num_layers = count, .layers = std::move(layers)};
}

}  // namespace

Pattern::Pattern(const Config& cfg, const Dims& dims, const Scope& scope) : Block(scope) {
  if (cfg.pattern.empty())
    fail("pattern", "expected the blocks of one group, got none; give at least one");
  spell("groups.layer.layers[", "pattern[");
  spell("rest.layers[", "pattern[");
  const int64_t num_layers = cfg.num_layers;
  const auto size = static_cast<int64_t>(cfg.pattern.size());
  const int64_t num_groups = num_layers / size;
  if (num_groups > 0) {
    groups_ =
        child("groups",
              Child<Block>(Repeat::Config{
                  .num_layers = num_groups, .unroll = cfg.unroll, .layer = stack_of(cfg.pattern)}),
              dims);
  }
  // The rest has blocks of the groups, and so their mistakes.
  if (num_layers % size != 0 && !has_unbuilt_child())
    rest_ = child("rest", stack_of({cfg.pattern.begin(), cfg.pattern.begin() + num_layers % size}),
                  dims);
}

Tensor Pattern::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor y_BTD = groups_ ? (*groups_)(x_BTD, context) : x_BTD;
  return rest_ ? (*rest_)(y_BTD, context) : y_BTD;
}

AXLE_REGISTER(Pattern)

}  // namespace axle
