// The changes that may make a step fit, from the smallest on.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"
#include "runtime/memory_estimate.h"
#include "train/config/microbatches.h"

namespace axle {

struct Change {
  /// What to add or to replace: "--set learner.microbatches=8".
  std::vector<std::string> flags;
  double estimated_bytes = 0;
  /// Of the compiled step; none: it was not compiled, or the compiler did not say.
  std::optional<int64_t> compiled_bytes = {};
  /// True if the step was compiled and fits.
  bool fits = false;
};

using Edits = std::vector<Edit>;
/// Returns the edits as flags of a command line.
std::vector<std::string> flags_of(const Edits& edits);

/// Returns the flags of the change: "--set learner.microbatches=8".
std::string flags_text(const Change& change);
/// Returns "--set learner.microbatches=8: 61.2 GiB of 72.8 GiB per device by an estimate".
std::string need_text(const Change& change, int64_t device_memory_bytes);
nlohmann::ordered_json to_json(const Change& change);

/// Compiles the step of a change.
using CompileStep = std::function<CompileReport(const LoweredStep&, const Change&)>;

/// A config that is tried, and how it was made.
struct Trial {
  Edits edits;
  Change change;
  LoweredStep step;
  Trainer::Config config = {};
  MemoryEstimate estimate = {};
  /// Bytes of a device if the temporaries are `scale` times what is estimated from the graph.
  double bytes(double scale) const {
    return estimate.argument_bytes + scale * estimate.temporary_bytes;
  }
};

/// Lowers changed configs and estimates their memory.
class Trials {
 public:
  static constexpr double kLeastScale = 0.5, kMostScale = 64;

  /// `report` is that of the step of `resolved`. What the compiler needed for it makes up for what
  /// the estimate of the graph does not know: scale() is the ratio of the temporaries.
  Trials(const Resolved& resolved, const Target& target, const CompileReport& report);

  /// Lowers the changed config. None if the change is refused.
  std::optional<Trial> trial(const Edits& edits) const { return trial(edits, config_, target_); }
  std::optional<Trial> trial(const Edits& edits, Trainer::Config config,
                             const Target& target) const;
  double scale() const { return scale_; }
  /// Bytes of the training state on each device if all of them share all of it.
  double shared_state_bytes() const { return shared_state_bytes_; }
  /// Returns the scale at which a step of this estimate needs `needed_bytes`.
  static double scale_for(const MemoryEstimate& estimate, double needed_bytes);
  /// True if the estimate, scaled, leaves some of a device's memory; also if its size is not known.
  bool may_fit(const Trial& trial, double scale) const;
  bool may_fit(const Trial& trial) const { return may_fit(trial, scale_); }

  /// Sets the remat policy of all layers.
  Edit remat(const std::string& policy) const;
  /// Divides the vocabulary of the table that computes the logits over the mesh axis `model`, as
  /// they are; none for models without a Decoder, and where the table has a partition of its own.
  std::optional<Edit> divide_vocabulary() const;
  /// Returns the edits that make long rows need less, with the same results: attention by blocks in
  /// every core of the tree that can and does not, and the loss by chunks. Empty: there are none.
  Edits by_blocks() const;

  const Trainer::Config& config() const { return config_; }
  const Target& target() const { return target_; }
  const Mesh& mesh() const { return mesh_; }
  /// How a batch of the config is divided.
  Microbatches batch() const { return train_microbatches(config_, mesh_); }

 private:
  const Trainer::Config& config_;
  std::string recipe_;
  const Target& target_;
  double memory_;
  double scale_ = 1, shared_state_bytes_ = 0;
  Mesh mesh_;
  std::string layers_ = "**.layer";  // the slots of all layers
};

/// Changes of one kind, which differ in how much less the step then needs.
struct ChangeFamily {
  /// "microbatches".
  std::string name;
  /// Returns the smallest change whose estimate, `scale` times the graph's, may fit; if none
  /// may, the one that needs the least. None: all are refused.
  std::function<std::optional<Trial>(double scale)> smallest;
  /// The most by which the graph's estimate is scaled before a change of this family was compiled.
  /// Less where the change takes away what the compiler needs so much for.
  double most_scale = Trials::kMostScale;
};

/// The families, in the order in which they are tried: those that leave the result of a step come
/// first, then fewer or shorter rows, then more devices. `request` and `trials` must outlive them.
std::vector<ChangeFamily> change_families(const ResolveRequest& request, const Trials& trials);

}  // namespace axle
