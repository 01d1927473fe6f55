// Changed configs that are lowered, and what their steps need by an estimate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "plan/advice/change.h"
#include "plan/compile_report.h"
#include "runtime/memory_estimate.h"
#include "train/batch_parts.h"

namespace axle {

/// Compiles the step of a change.
using CompileStep = std::function<CompileReport(const LoweredStep&, const Change&)>;

/// A config that is tried, and how it was made.
struct Trial {
  Edits edits;
  Change change;
  LoweredStep step;
  Trainer::Config config = {};
  MemoryEstimate estimate = {};
  /// Bytes of a device if the temporaries are so many times what is estimated from the graph.
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
  /// Returns the scale at which a step of this estimate needs so many bytes.
  static double scale_for(const MemoryEstimate& estimate, double needed_bytes);
  /// True if the estimate, scaled, leaves some of a device's memory; also if its size is not known.
  bool may_fit(const Trial& trial, double scale) const;
  bool may_fit(const Trial& trial) const { return may_fit(trial, scale_); }

  /// Sets the remat policy of all layers.
  Edit remat(const std::string& policy) const;
  /// Divides the vocabulary of the table that gives the logits over the mesh axis `model`, as they
  /// are; none for models without a Decoder, and where the table has a partition of its own.
  std::optional<Edit> divide_vocabulary() const;
  /// Returns the edits that make long rows need less, with the same results: attention by blocks in
  /// every core of the tree that can and does not, and the loss by chunks. Empty: there are none.
  Edits by_blocks() const;

  const Trainer::Config& config() const { return config_; }
  const Target& target() const { return target_; }
  const Mesh& mesh() const { return mesh_; }
  /// How a batch of the config is divided.
  BatchParts batch() const { return batch_parts(config_, mesh_); }

 private:
  const Trainer::Config& config_;
  std::string recipe_;
  const Target& target_;
  double memory_;
  double scale_ = 1, shared_state_bytes_ = 0;
  Mesh mesh_;
  std::string layers_ = "**.layer";  // the slots of all layers
};

}  // namespace axle
