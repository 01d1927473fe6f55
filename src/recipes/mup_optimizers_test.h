// Optimizers of each kind of updates (learn/optimizer.h), for the coordinate check of MuP.
#pragma once

#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/sgd.h"
#include "recipes/mup_coordinates_test.h"
#include "recipes/mup_families_test.h"

namespace axle {

struct MuPOptimizer {
  std::string name;
  Child<Optimizer> config;
  int64_t widest = 16;  // the largest factor of the width, for a test of a minute
};
inline void PrintTo(const MuPOptimizer& optimizer, std::ostream* out) { *out << optimizer.name; }

/// One of each kind but kElements, which AdamW is, or all.
enum class OptimizersOf { kEachKind, kAll };
inline std::vector<MuPOptimizer> mup_optimizers(OptimizersOf which) {
  const auto rate = [](double value) { return ConstantRate{.value = value}; };
  const auto sgd = [&](double value) {
    return Sgd::Config{.learning_rate = rate(value), .momentum = 0.5};
  };
  const auto muon = [&](MuonScale scale, double value) {
    return Muon::Config{.learning_rate = rate(value), .scale = scale, .others = adamw()};
  };
  std::vector<MuPOptimizer> out = {
      {"Sgd", sgd(0.3)},
      {"MuonAdam", muon(MuonScale::kAdam, 0.02)},
      {"MuonSpectral", muon(MuonScale::kSpectral, 0.1)},
      {"Lamb", Lamb::Config{.learning_rate = rate(0.05)}},
  };
  if (which == OptimizersOf::kEachKind) return out;
  const std::vector<MuPOptimizer> more = {
      {"Lion", Lion::Config{.learning_rate = rate(0.005)}},
      {"Adafactor", Adafactor::Config{.learning_rate = rate(0.01)}},
      {"AdaStar", AdaStar::Config{.learning_rate = rate(0.01)}},
      {"Soap", Soap::Config{.learning_rate = rate(0.01), .every_steps = 1, .others = adamw()}, 4},
      {"AdafactorRelative",
       Adafactor::Config{.learning_rate = rate(0.05), .step_size = StepSize::kRelative}},
  };
  out.insert(out.end(), more.begin(), more.end());
  return out;
}
/// For INSTANTIATE_TEST_SUITE_P over optimizers.
inline constexpr auto kNamedByOptimizer = [](const auto& which) { return which.param.name; };

/// A small model whose head is its table, or has weights of its own.
inline Trainer::Config small_model(bool is_tied = true) {
  Trainer::Config out = MuPFamily{"quickstart", family_fields::small()}.config();
  if (!is_tied) set(out, "model.decoder.lm_head", "LmHead");
  return out;
}

}  // namespace axle
