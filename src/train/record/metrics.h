// The metrics of a run: names that its records use themselves, under which no model or learner may
// report, values from the devices, and those that follow from others on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/tree.h"
#include "ir/tensor.h"
#include "runtime/runtime.h"

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

/// Returns the values of a program's results from index `first` on, by name. The elements of a
/// vector get numbers: "name/0", "name/1". Waits for the values.
Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics);

/// Adds what follows from "cross_entropy", a mean over `num_targets` in nats (without it, from
/// "loss"): "perplexity", its exponential, and "bits_per_byte" if the targets stand for
/// `num_bytes` > 0 bytes of text. Both are exact for means over several batches, which averages of
/// those of the batches are not. Adds nothing if the model has no cross entropy and its own
/// "num_targets" are not these.
void add_text_metrics(Tree<double>& metrics, int64_t num_targets, double num_bytes);

}  // namespace axle
