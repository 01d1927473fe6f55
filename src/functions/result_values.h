// The tensors of what public tensor functions return, in order.
#pragma once

#include <utility>
#include <vector>

#include "ops/create.h"
#include "ops/movement/counting.h"
#include "ops/random/key.h"
#include "ops/reductions/cross_entropy.h"
#include "transform/control_flow/scan.h"

namespace axle {

inline Values result_values(Tensor x) { return {std::move(x)}; }
inline Values result_values(Values x) { return x; }
inline Values result_values(const random::Key& x) { return {x.data()}; }
inline Values result_values(const std::vector<random::Key>& x) {
  Values out;
  for (const random::Key& key : x) out.push_back(key.data());
  return out;
}
inline Values result_values(const HostTensor& x) { return {constant(x)}; }
inline Values result_values(const std::pair<Tensor, Tensor>& x) { return {x.first, x.second}; }
inline Values result_values(const CrossEntropy& x) { return {x.loss, x.log_z}; }
inline Values result_values(const Unique& x) {
  return {x.values, x.first_indices, x.inverse, x.counts};
}
/// The carry, then the ys.
inline Values result_values(const ScanResult& x) {
  Values out = x.carry;
  out.insert(out.end(), x.ys.begin(), x.ys.end());
  return out;
}

}  // namespace axle
