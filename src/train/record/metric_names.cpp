#include "train/record/metric_names.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace axle {
namespace {

constexpr std::string_view kLearnerPrefix = "the learner", kSummaries = "summary";

constexpr std::array kRecordNames = {
    RecordName{"step", "the record"},                // metrics_log.cpp
    RecordName{"split", "the record"},               // metrics_log.cpp
    RecordName{"loss", "the program"},               // programs.cpp
    RecordName{"not_finite", "the program"},         // programs.cpp
    RecordName{"skipped", "the program"},            // programs.cpp
    RecordName{kSummaries, "the program"},           // programs.cpp
    RecordName{"grad_norm", kLearnerPrefix},         // learn/learner.cpp
    RecordName{"learning_rate", kLearnerPrefix},     // learn/learner.cpp
    RecordName{"param_norm", kLearnerPrefix},        // learn/learner.cpp
    RecordName{"update_norm", kLearnerPrefix},       // learn/learner.cpp
    RecordName{"tokens_per_sec", "the trainer"},     // trainer.cpp
    RecordName{"mfu", "the trainer"},                // trainer.cpp
    RecordName{"hfu", "the trainer"},                // trainer.cpp
    RecordName{"wall_secs", "the trainer"},          // trainer.cpp
    RecordName{"eval_secs", "the trainer"},          // trainer.cpp
    RecordName{"skipped_documents", "the trainer"},  // trainer.cpp
    RecordName{"bits_per_byte", "the trainer"},      // text_metrics.cpp
    RecordName{"perplexity", "the trainer"},         // text_metrics.cpp
};

[[noreturn]] void refuse(std::string_view where, std::string_view name, std::string_view owner) {
  throw ConfigError(fmt::format(
      "{}: metric '{}': expected an unused name, got one that {} writes; rename the metric", where,
      name, owner));
}

// Returns the owner of a name, or of the section that the name is in; empty if it has none.
std::string_view owner_of(std::string_view name) {
  const std::string_view head = name.substr(0, name.find('/'));
  for (const RecordName& row : kRecordNames) {
    if (row.name == name || (row.name == kSummaries && head == kSummaries)) return row.owner;
  }
  return {};
}

}  // namespace

std::span<const RecordName> record_names() { return kRecordNames; }

void check_model_metrics(std::string_view model, const Tree<Tensor>& metrics) {
  for (const auto& [name, value] : metrics) {
    if (const auto owner = owner_of(name); !owner.empty()) refuse(model, name, owner);
  }
}

void check_learner_metrics(const Tree<Tensor>& metrics, const Tree<Tensor>& others) {
  for (const auto& [name, value] : metrics) {
    const auto owner = owner_of(name);
    if (!owner.empty() && owner != kLearnerPrefix) refuse("learner", name, owner);
    if (others.contains(name)) refuse("learner", name, "the model");
  }
}

}  // namespace axle
