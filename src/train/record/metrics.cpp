#include "train/record/metrics.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "layers/models/model.h"

namespace axle {

Throughput throughput_of(const Lap& lap, const StepCost& cost) {
  const double secs = lap.secs / static_cast<double>(lap.num_steps);
  Throughput out{.tokens_per_sec = static_cast<double>(lap.num_tokens) / lap.secs,
                 .step_secs = secs};
  if (cost.peak_flops > 0) {
    out.mfu = cost.model_flops / secs / cost.peak_flops;
    out.hfu = cost.program_flops / secs / cost.peak_flops;
  }
  return out;
}

void add_throughput(Tree<double>& values, const Throughput& speed) {
  values["tokens_per_sec"] = speed.tokens_per_sec;
  values["mfu"] = speed.mfu;
  values["hfu"] = speed.hfu;
}

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
    RecordName{"tokens_per_sec", "the trainer"},     // here
    RecordName{"mfu", "the trainer"},                // here
    RecordName{"hfu", "the trainer"},                // here
    RecordName{"wall_secs", "the trainer"},          // trainer.cpp
    RecordName{"eval_secs", "the trainer"},          // trainer.cpp
    RecordName{"skipped_documents", "the trainer"},  // trainer.cpp
    RecordName{"bits_per_byte", "the trainer"},      // here
    RecordName{"perplexity", "the trainer"},         // here
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

namespace {

// A NaN without its sign, which means nothing to a reader.
double shown(double x) { return std::isnan(x) ? std::abs(x) : x; }

}  // namespace

Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics) {
  Tree<double> out;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& name = program.outputs[first + i].name;
    const HostTensor value = metrics[i]->to_host();
    if (value.size() == 1) {
      out[name] = shown(value.at(0));
    } else {
      for (int64_t j = 0; j < value.size(); ++j)
        out[fmt::format("{}/{}", name, j)] = shown(value.at(j));
    }
  }
  return out;
}

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
