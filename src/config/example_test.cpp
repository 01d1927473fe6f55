#include "config/example_test.h"

#include "base/error.h"
#include "base/text/text.h"

namespace axle::example {

std::string to_text(const Axes& axes) { return "[" + join(axes.names, ", ") + "]"; }
void from_text(std::string_view text, Axes& axes) {
  if (!text.starts_with('[') || !text.ends_with(']')) throw ConfigError("expected [axis, ...]");
  Axes read;
  for (const std::string_view name : split(text.substr(1, text.size() - 2), ',')) {
    if (!trim(name).empty()) read.names.emplace_back(trim(name));
  }
  axes = read;
}

Scale::Scale(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope), factor_(cfg.factor * double(dims.input_dim)) {
  const auto* options = static_cast<const SlotOptions*>(scope.options);
  if (options->dtype == Precision::kLow) factor_ = -factor_;
}

int64_t twice(int64_t d) { return 2 * d; }
int64_t thrice(int64_t d) { return 3 * d; }

Tower::Config full_tower() {
  Tower::Config cfg{
      .model_dim = 64,
      .hidden_dim = {"twice", &twice},
      .extra_dim = Fixed{.dim = 5},
      .norm = {Twice::Config{.inner = Scale::Config{.factor = 0.1}}, {.dtype = Precision::kLow}},
      .output_norm = Shift::Config{.by = -3},
      .source = Lines::Config{.path = "none"},
      .layers = {Scale::Config{}, Twice::Config{.inner = Scale::Config{.factor = 5}}},
      .heads = {{"a", Shift::Config{}}, {"b.c", Scale::Config{.eps = 1e-30f}}},
      .mesh = {{.name = "data"}, {.name = "model", .size = 2}},
      .spare = Axis{.name = "it's: a #1 \"na\\me\"\nline"},
      .sizes = {},
      .words = {"none", "", "~", "5", "true", "ünï", "a b", "- x"},
      .weights = {{"x y", 0.1}, {"large", 1e30}},
      .label = "none",
      .precision = Precision::kLow,
      .axes = {{"data", "fsdp"}},
      .tied = true,
      .small = 255,
  };
  return cfg;
}

AXLE_REGISTER(SlotOptions)
AXLE_REGISTER(Norm::Dims)
AXLE_REGISTER(Scale)
AXLE_REGISTER(Shift)
AXLE_REGISTER(LoudScale)
AXLE_REGISTER(Twice)
AXLE_REGISTER(Bounded)
AXLE_REGISTER(Lines)
AXLE_REGISTER(Scaled)
AXLE_REGISTER(Fixed)
AXLE_REGISTER(Axis)
AXLE_REGISTER(Tower)
AXLE_REGISTER(twice, "twice")
AXLE_REGISTER(thrice, "thrice")

}  // namespace axle::example
