// Metric names that the records of a run use themselves. No model or learner may report under them.
#pragma once

#include <span>
#include <string_view>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// A reserved name, and the part of the program that writes it.
struct RecordName {
  std::string_view name, owner;
};
std::span<const RecordName> record_names();

/// Throws ConfigError "<model>: metric '<name>': ..." if a model reports under the name of a
/// record's own field or of layer summaries ("summary/...").
void check_model_metrics(std::string_view model, const Tree<Tensor>& metrics);
/// Like check_model_metrics, for a learner. The learner may use its own reserved names, but no name
/// in `others`, the model's metrics.
void check_learner_metrics(const Tree<Tensor>& metrics, const Tree<Tensor>& others);

}  // namespace axle
