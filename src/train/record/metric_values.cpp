#include "train/record/metric_values.h"

#include <fmt/format.h>

#include <cmath>

namespace axle {

namespace {

// A NaN without its sign, which means nothing to a reader.
double shown(double x) { return std::isnan(x) ? std::abs(x) : x; }

}  // namespace

Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics) {
  Tree<double> out;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& name = program.outputs[first + i].name;
    const HostTensor value = metrics[i]->to_host();
    if (value.size() == 1) {
      out[name] = shown(value.at(0));
    } else {
      for (int64_t j = 0; j < value.size(); ++j)
        out[fmt::format("{}/{}", name, j)] = shown(value.at(j));
    }
  }
  return out;
}

}  // namespace axle
