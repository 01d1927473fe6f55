// Names that records of a run have of themselves, which no model and no learner may report under.
#pragma once

#include <span>
#include <string_view>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// A name that a record has, and whose it is.
struct RecordName {
  std::string_view name, owner;
};
std::span<const RecordName> record_names();

/// Throws ConfigError "<model>: metric '<name>': ..." where a model reports under a name of a
/// record or of layer summaries ("summary/...").
void check_model_metrics(std::string_view model, const Tree<Tensor>& metrics);
/// The same of a learner, whose own names are its own, and which shares none with `others`.
void check_learner_metrics(const Tree<Tensor>& metrics, const Tree<Tensor>& others);

}  // namespace axle
