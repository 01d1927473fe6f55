// Helper for tests that compare Repeat (a scan) with Stacked (unrolled).
#pragma once

#include <string>

#include "testing/test_layer.h"

namespace axle {

/// Converts the parameters of a TestLayer<Stacked> with n blocks, by path, to the parameters of a
/// TestLayer<Repeat>.
inline Tree<HostTensor> stacked_parameters(const Tree<HostTensor>& of_stacked, int64_t n) {
  Tree<HostTensor> out;
  for (const auto& [path, first] : of_stacked) {
    if (!path.starts_with("stacked/layer0/")) continue;
    const std::string below = path.substr(std::string("stacked/layer0").size());
    Shape shape = first.shape();
    shape.insert(shape.begin(), n);
    HostTensor all(Type{first.dtype(), shape});
    auto to = all.values<float>().begin();
    for (int64_t i = 0; i < n; ++i)
      to = std::ranges::copy(
               of_stacked.at("stacked/layer" + std::to_string(i) + below).values<float>(), to)
               .out;
    out.emplace("repeat/layer" + below, all);
  }
  return out;
}

}  // namespace axle
