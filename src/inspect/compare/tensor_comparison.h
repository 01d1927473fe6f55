// The outcome of comparing tensors with those of another implementation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/text/enum_text.h"
#include "inspect/compare/element_tolerance.h"

namespace axle {

enum class Verdict { kAgrees, kDiffers, kOtherShape, kMissing };
constexpr auto texts_of(Verdict) {
  return std::to_array<EnumText<Verdict>>({{Verdict::kAgrees, "ok"},
                                           {Verdict::kDiffers, "differs"},
                                           {Verdict::kOtherShape, "other shape"},
                                           {Verdict::kMissing, "missing"}});
}

struct ComparedTensor {
  std::string name;  // in the reference
  Verdict verdict;
  std::string expected, got;  // types; `got` is empty if the result is missing
  /// The largest difference, absolute and relative to the scale. Both are infinite if only one side
  /// is a NaN.
  double max_abs = 0, max_rel = 0;
  ElementTolerance tolerance = {};  // none for integers
  std::string worst = {};           // worst_text(): the position and values of the worst element
};

/// Returns what is known before a result is compared: that it is missing.
ComparedTensor missing_tensor(const std::string& name, const HostTensor& expected,
                              const ElementTolerance& tolerance);
/// Compares a result with the tensor `name` of the reference. `scale` is what
/// ElementTolerance::largest is relative to.
ComparedTensor compare_tensor(const std::string& name, const HostTensor& got,
                              const HostTensor& expected, const ElementTolerance& tolerance,
                              double scale);

struct TensorComparison {
  std::string reference;  // path of the file
  std::vector<ComparedTensor> tensors;
  /// Sections of the reference that were not compared, with the reason.
  std::vector<std::string> not_compared;
  /// Names of results that are not in the reference.
  std::vector<std::string> only_in_results;

  bool agrees() const;
  /// Returns "2 of 9 differ (grad/in/x, out), 1 missing (out/loss)".
  std::string summary() const;
};
std::string to_text(const TensorComparison& comparison);
nlohmann::ordered_json to_json(const TensorComparison& comparison);

}  // namespace axle
