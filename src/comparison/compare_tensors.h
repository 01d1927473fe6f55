// Compares results with those of another implementation, tensor by tensor.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "comparison/eval_subject.h"
#include "comparison/rename.h"
#include "comparison/tensor_comparison.h"
#include "io/safetensors.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

/// An output of a call. The name of "out/loss" is "loss"; the name of "out" itself is empty.
struct NamedOutput {
  std::string name;
  Tensor value;
};

/// Traced. Returns one cotangent for each output; none (zero) if it is not given or the output is
/// not a floating-point tensor. Keys of `given` are the names of outputs ("loss") or their indices
/// ("0"). Throws DataError if `given` is empty, ConfigError if it has two cotangents for one output
/// or one of another type, for names of no floating-point output, and if there is no such output.
Values cotangents_for(const std::vector<NamedOutput>& outputs, const Tree<Tensor>& given);

/// The largest allowed differences of tensors, relative to their scale.
class Tolerances {
 public:
  /// Each text is "T" or "PATTERN=T" (PathPattern); T applies to tensors whose name matches. The
  /// last matching text counts; without a match, the tolerance is 1e-5. Throws ConfigError for a T
  /// that is not a finite number >= 0.
  explicit Tolerances(const std::vector<std::string>& texts = {});
  double of(std::string_view name) const;
  /// Throws ConfigError for a pattern that matches no tensor of the file.
  void check_matches(const SafetensorsFile& file, const std::string& path) const;

 private:
  struct Row {
    std::string text;
    PathPattern pattern;
    double tolerance;
  };
  std::vector<Row> rows_;
};

/// Returns why a reference tensor without a counterpart among the results is no error; empty: it is
/// an error. `name` is the name of the matching result of Axle, such as grad/<path>.
using SkipReasonOf = std::function<std::string(const std::string& name)>;

/// A file of expected results, opened and checked before any result of ours exists.
struct TensorReference {
  std::string path;
  SafetensorsFile file;
  /// Tensors to compare: from their names to the names of the matching results of Axle.
  std::map<std::string, std::string> names;
  /// Tensors not to compare: the number for each reason.
  std::map<std::string, int> not_compared;
};
/// Throws ConfigError for a file that holds no results; DataError for a missing or damaged
/// file and for a result whose dtype Axle does not have.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const SkipReasonOf& skip_reason_of);

/// Compares every tensor of the reference, renamed by `rules`, with the result of that name.
///
/// The scale of a tensor is the largest element of the reference. If a gradient has cancelled to
/// rounding errors (its largest element is below 1e-4 of the largest of all gradients), its scale
/// is the largest of all gradients. Integers on both sides agree only if they are equal. [] and [1]
/// count as the same shape. A reference tensor `out` is compared with `out/loss` if there is no
/// result `out`. Throws ConfigError if there is nothing to compare.
TensorComparison compare_tensors(const Tree<HostTensor>& results, const TensorReference& reference,
                                 const RenameRules& rules, const Tolerances& tolerances);

/// Opens a reference file as open_reference() of compare_tensors.h does, without two kinds of
/// tensors: the inputs, and the results that `options` did not ask for. One file may hold the
/// inputs and the reference; `inputs` is the path of the file of inputs, "" if there is none.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const EvalSubject& subject, const SubjectOptions& options,
                               const std::string& inputs);

}  // namespace axle
