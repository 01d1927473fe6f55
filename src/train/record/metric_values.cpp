#include "train/record/metric_values.h"

#include <fmt/format.h>

namespace axle {

Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics) {
  Tree<double> out;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& name = program.outputs[first + i].name;
    const HostTensor value = metrics[i]->to_host();
    if (value.size() == 1) {
      out[name] = value.at(0);
    } else {
      for (int64_t j = 0; j < value.size(); ++j) out[fmt::format("{}/{}", name, j)] = value.at(j);
    }
  }
  return out;
}

}  // namespace axle
