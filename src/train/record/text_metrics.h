// Metrics of text that follow from others on the host.
#pragma once

#include <cstdint>

#include "base/tree.h"

namespace axle {

/// Adds what follows from "cross_entropy", a mean over `num_targets` in nats (without it, from
/// "loss"): "perplexity", its exponential, and "bits_per_byte" if the targets stand for
/// `num_bytes` > 0 bytes of text. Both are exact for means over several batches, which averages of
/// those of the batches are not. Adds nothing if the model has no cross entropy and its own
/// "num_targets" are not these.
void add_text_metrics(Tree<double>& metrics, int64_t num_targets, double num_bytes);

}  // namespace axle
