// The config that `axle eval` evaluates a trained model with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/input.h"
#include "interop/model_folder.h"
#include "recipes/resolve/resolve.h"

namespace axle {

struct ResolvedEvaluation : Resolved {
  /// Whether nobody has chosen the length of rows, or their number in a batch: neither the edits,
  /// nor a run, as an imported model is none.
  bool fits_seq_len = false, fits_batch_size = false;
};

/// Returns the config of a trained model with its input over all of `data` once, then the edits.
/// The run's compiler options are dropped, because they belong to its device; options that the
/// edits set are kept. Throws ConfigError for an edit without effect: of a field that an evaluation
/// does not read, or that `data` decides.
ResolvedEvaluation resolve_evaluation(const ModelConfig& config, const UseData& data,
                                      const std::vector<Edit>& edits);

/// Makes rows shorter that nobody has chosen and that hold whole conversations or pairs, as far as
/// each of these still fits, and batches smaller that have more rows than there are. No metric
/// changes, since each conversation is a segment of its own. `facts` are those of the config's
/// input. Returns true if the config has changed.
bool fit_rows(ResolvedEvaluation& evaluation, const InputFacts& facts, int64_t num_devices);

/// True if an evaluation reads the field of a config at this path, or below it.
bool is_read_by_evaluation(std::string_view path);

}  // namespace axle
