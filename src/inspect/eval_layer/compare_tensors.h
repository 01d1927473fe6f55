// Results against those of another implementation, tensor by tensor.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "inspect/eval_layer/path_pattern.h"
#include "inspect/eval_layer/rename.h"
#include "io/safetensors.h"
#include "ir/host_tensor.h"

namespace axle {

/// How much tensors may differ, as parts of their scale.
class Tolerances {
 public:
  /// Each "T" or "PATTERN=T" (PathPattern), for tensors whose name fits; the last that fits counts,
  /// 1e-5 where none does. Throws ConfigError for anything but finite numbers >= 0.
  explicit Tolerances(const std::vector<std::string>& texts = {});
  double of(std::string_view name) const;

 private:
  struct Row {
    PathPattern pattern;
    double tolerance;
  };
  std::vector<Row> rows_;
};

enum class Verdict { kAgrees, kDiffers, kOtherShape, kMissing };

struct ComparedTensor {
  std::string name;  // as the reference has it
  Verdict verdict;
  std::string expected, got;  // types; `got` is empty where it is missing
  /// The largest difference, and that over the scale; a NaN on one side makes both infinite.
  double max_abs = 0, max_rel = 0;
  double tolerance = 0;  // of integers 0
};

struct TensorComparison {
  std::string reference;  // the file
  std::vector<ComparedTensor> tensors;
  /// Sections of the reference that were left alone, with the reason.
  std::vector<std::string> left_alone;
  /// Results that the reference does not have.
  std::vector<std::string> ours_alone;

  bool agrees() const;
  /// "2 of 9 differ (grad/in/x, out), 1 missing (out/loss)".
  std::string summary() const;
};
std::string to_text(const TensorComparison& comparison);
nlohmann::ordered_json to_json(const TensorComparison& comparison);

/// Why a tensor of the reference that is not among the results is no fault, by its name with our
/// section; empty: it is one.
using ExcuseOf = std::function<std::string(const std::string& name)>;

/// A file of results, opened and checked before there are any of ours.
struct TensorReference {
  std::string path;
  SafetensorsFile file;
  /// From their names of what may be results to those with our section.
  std::map<std::string, std::string> names;
  /// The others: how many, by the reason.
  std::map<std::string, int> left_alone;
};
/// Throws ConfigError for a file that is not there or holds no results; DataError for a damaged one
/// and for a result whose dtype Axle does not have.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const ExcuseOf& excuse_of);

/// Compares every tensor of the reference, renamed by `rules`, with the result of that name. The
/// scale of a tensor is the largest element of the reference; that of a gradient that has cancelled
/// to rounding (below 1e-4 of the largest of all gradients) is the largest of all. Integers on both
/// sides agree where they are equal. [] and [1] are the same shape. `out` of a reference is
/// `out/loss` where there is no `out`. Throws ConfigError if there is nothing to compare.
TensorComparison compare_tensors(const Tree<HostTensor>& results, const TensorReference& reference,
                                 const RenameRules& rules, const Tolerances& tolerances);

}  // namespace axle
