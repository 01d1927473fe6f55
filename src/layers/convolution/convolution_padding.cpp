#include "layers/convolution/convolution_padding.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"

namespace axle {
namespace {

int64_t extent(const SlidingDim& window) {
  return dilated_size(window.size, window.window_dilation);
}

}  // namespace

std::vector<DimPadding> ValidPadding::operator()(const SlidingWindow& windows) const {
  return std::vector<DimPadding>(windows.size());
}

std::vector<DimPadding> SamePadding::operator()(const SlidingWindow& windows) const {
  std::vector<DimPadding> out;
  for (const SlidingDim& window : windows) {
    const int64_t total = extent(window) - 1;
    out.push_back({.low = total / 2, .high = total - total / 2});
  }
  return out;
}

std::vector<DimPadding> CausalPadding::operator()(const SlidingWindow& windows) const {
  std::vector<DimPadding> out = SamePadding{}(windows);
  const SlidingDim& time = windows.at(0);
  out[0] = {.low = extent(time) - time.stride, .high = time.stride - 1};
  return out;
}

std::vector<DimPadding> ExplicitPadding::operator()(const SlidingWindow& windows) const {
  if (dims.size() != windows.size()) {
    throw ConfigError(fmt::format("dims: expected an entry for each of {} spatial dims, got {}",
                                  windows.size(), dims.size()));
  }
  std::vector<DimPadding> out;
  for (const PaddedDim& dim : dims) out.push_back({.low = dim.low, .high = dim.high});
  return out;
}

AXLE_REGISTER(ValidPadding)
AXLE_REGISTER(SamePadding)
AXLE_REGISTER(CausalPadding)
AXLE_REGISTER(PaddedDim)
AXLE_REGISTER(ExplicitPadding)

}  // namespace axle
