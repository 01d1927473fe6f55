#include "layers/attention/biases/sum_of_biases.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {
namespace {

// Calls each of the biases.
template <class Biases>
Tensor sum_of(const Biases& biases, const TokenPlaces& places) {
  Tensor sum;
  for (const auto& bias : biases) {
    const Tensor own = bias(places);
    sum = sum ? sum + own : own;
  }
  return sum;
}

}  // namespace

SumOfBiases::SumOfBiases(const Config& cfg, const Dims& dims, const Scope& scope)
    : LogitBias(scope) {
  if (cfg.biases.empty()) {
    fail("biases",
         "expected at least one bias, got none; leave the bias of attention out if nothing is "
         "added");
  }
  for (size_t i = 0; i < cfg.biases.size(); ++i)
    biases_.push_back(
        child(fmt::format("bias{}", i), cfg.biases[i], dims, fmt::format("biases[{}]", i)));
}

BiasDependence SumOfBiases::own_dependence(const TokenPlaces& all) const {
  auto out = BiasDependence::kDistance;
  for (const auto& bias : biases_) out = std::min(out, bias->dependence(all));
  return out;
}

LogitBias::OfBlock SumOfBiases::unchecked_blocks(const TokenPlaces& all, int64_t num_rows) {
  std::vector<OfBlock> parts;
  for (const auto& bias : biases_) parts.push_back(bias->of_blocks(all, num_rows));
  return [parts](const TokenPlaces& places) { return sum_of(parts, places); };
}

Tensor SumOfBiases::forward(const TokenPlaces& places) { return sum_of(biases_, places); }

AXLE_REGISTER(SumOfBiases)

}  // namespace axle
