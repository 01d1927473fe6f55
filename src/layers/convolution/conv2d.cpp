#include "layers/convolution/conv2d.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"

namespace axle {
namespace {

SlidingWindow windows_of(const Conv2D::Config& cfg, const Scope& scope) {
  const auto entry = [&](const char* field, const std::vector<Positive<int64_t>>& list, size_t i) {
    if (list.size() != 2) {
      throw ConfigError(fmt::format("{}: expected two numbers, got {}",
                                    join_config_path(scope.as_config(), field), list.size()));
    }
    return int64_t{list[i]};
  };
  SlidingWindow out;
  for (size_t i = 0; i < 2; ++i) {
    out.push_back({.size = entry("window", cfg.window, i),
                   .stride = entry("strides", cfg.strides, i),
                   .window_dilation = entry("dilation", cfg.dilation, i)});
  }
  return out;
}

}  // namespace

Conv2D::Conv2D(const Config& cfg, const Dims& dims, const Scope& scope)
    : WeightedConvolution(windows_of(cfg, scope),
                          {.padding = cfg.padding, .num_groups = cfg.num_groups, .bias = cfg.bias},
                          dims, scope) {}

AXLE_REGISTER(Conv2D)

}  // namespace axle
