#include "train/record/text_metrics.h"

#include <cmath>

#include "layers/models/model.h"

namespace axle {

void add_text_metrics(Tree<double>& metrics, int64_t num_targets, double num_bytes) {
  const auto it = metrics.find("cross_entropy");
  // A model that counts other things than tokens has a loss of those.
  const auto counted = metrics.find(kNumTargets);
  if (it == metrics.end() && counted != metrics.end() &&
      counted->second != static_cast<double>(num_targets))
    return;
  const double nats = it == metrics.end() ? metrics.at("loss") : it->second;
  if (it != metrics.end()) metrics["perplexity"] = std::exp(nats);
  if (num_bytes > 0) {
    metrics["bits_per_byte"] = nats * static_cast<double>(num_targets) / num_bytes / std::log(2.0);
  }
}

}  // namespace axle
