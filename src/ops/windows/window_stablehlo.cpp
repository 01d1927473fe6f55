#include "ops/windows/window_stablehlo.h"

#include <fmt/format.h>

namespace axle {

std::string mlir_padding(const SlidingWindow& window) {
  std::string pairs;
  for (const SlidingDim& d : window)
    pairs += fmt::format("{}[{}, {}]", pairs.empty() ? "" : ", ", d.low, d.high);
  if (!pairs.empty()) pairs = "[" + pairs + "]";
  return fmt::format("padding = dense<{}> : tensor<{}x2xi64>", pairs, window.size());
}

std::string mlir_window(const SlidingWindow& window) {
  std::string out =
      fmt::format("window_dimensions = {}, window_strides = {}, {}",
                  mlir_array(list_of(window, &SlidingDim::size)),
                  mlir_array(list_of(window, &SlidingDim::stride)), mlir_padding(window));
  if (is_dilated(window)) {
    out += fmt::format(", base_dilations = {}, window_dilations = {}",
                       mlir_array(list_of(window, &SlidingDim::base_dilation)),
                       mlir_array(list_of(window, &SlidingDim::window_dilation)));
  }
  return out;
}

HloValues hlo_reduce_window(HloBuilder& b, const HloValues& x, const HloValues& init,
                            const SlidingWindow& window, const Shape& counts,
                            const std::function<HloValues(const HloValues&)>& combine) {
  HloValues operands = x;
  operands.insert(operands.end(), init.begin(), init.end());
  std::vector<Type> elements, results;
  for (const HloValue& v : x) {
    elements.push_back({v.type.dtype, {}});
    results.push_back({v.type.dtype, counts});
  }
  std::vector<Type> parameters = elements;
  parameters.insert(parameters.end(), elements.begin(), elements.end());
  return b.op("stablehlo.reduce_window", operands, results, mlir_window(window),
              {HloRegion{parameters, combine}});
}

}  // namespace axle
