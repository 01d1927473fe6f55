// The coordinate check of MuP: activations and their changes over some steps keep their size as a
// recipe becomes wider.
//
// Source: Yang et al. 2022, arXiv 2203.03466, appendix D.1.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "config/print.h"
#include "config/set.h"
#include "data/packing.h"
#include "data/random.h"
#include "learn/optimizers/adam.h"
#include "lower/stablehlo.h"
#include "modifiers/field_modifiers.h"
#include "nn/functional.h"
#include "train/mup/mup.h"
#include "train/step_run_test.h"

namespace axle {

/// Multiplies the widths of a model, and their number of heads: the fields with these names, and
/// the hidden dims that are fixed. Returns the old values by path.
inline std::map<std::string, std::string> widen(Trainer::Config& config, int64_t factor,
                                                const std::vector<std::string>& names = {
                                                    "model_dim", "num_heads", "num_kv_heads",
                                                    "query_rank", "kv_rank"}) {
  std::map<std::string, std::string> before;
  const std::string text = to_string(config);
  for (const std::string_view line : split(text, '\n')) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model.") || colon == std::string_view::npos) continue;
    const std::string path(line.substr(0, colon)), value(line.substr(colon + 2));
    const std::string name = path.substr(path.rfind('.') + 1);
    const bool is_width = std::ranges::count(names, name) > 0 || path.ends_with("hidden_dim.dim");
    if (is_width && is_digits(value)) before.emplace(path, value);
  }
  for (const auto& [path, value] : before)
    set(config, path, fmt::format("{}", std::stoll(value) * factor));
  return before;
}

/// The root mean squares of some activations of one model.
struct Coordinates {
  /// Of the results of all mixers, at the start and in the last step.
  std::vector<double> blocks_before, blocks_after;
  /// Of the logits after the last step, and of the changes of logits and of the head's input.
  double logits = 0, change_of_logits = 0, change_of_hidden = 0;
  /// The losses before and after the steps.
  double first_loss = 0, last_loss = 0;
};

/// Trains a model on one batch, and measures its activations.
class CoordinateRun {
 public:
  CoordinateRun(Runtime& runtime, const Trainer::Config& config)
      : runtime_(runtime),
        steps_(runtime, {.model = config.model,
                         .learner = config.learner,
                         .batch = batch_spec(kRows, kLength),
                         .layer_summaries = true}),
        activations_(runtime.compile(activations(), testing::fast_compile(runtime))) {}

  Coordinates measure(int64_t seed, int steps = 4) {
    const Tree<HostTensor> batch = fixed_batch(std::min<int64_t>(steps_.model().vocab_size(), 256),
                                               static_cast<uint64_t>(seed) + 5);
    steps_.start(seed);
    const std::vector<HostTensor> before = activations_now(batch);
    Coordinates out;
    for (int i = 0; i < steps; ++i) {
      const Tree<double> metrics = steps_.step(batch);
      std::vector<double> blocks;
      for (const auto& [name, value] : metrics) {
        if (name.starts_with("summary/") && name.ends_with("output/rms")) blocks.push_back(value);
      }
      (i == 0 ? out.blocks_before : out.blocks_after) = blocks;
      (i == 0 ? out.first_loss : out.last_loss) = metrics.at("loss");
    }
    const std::vector<HostTensor> after = activations_now(batch);
    out.logits = rms(after[1]);
    out.change_of_logits = rms_of_change(before[1], after[1]);
    out.change_of_hidden = rms_of_change(before[0], after[0]);
    return out;
  }

 private:
  static constexpr int64_t kRows = 4, kLength = 32;

  // Tokens that follow a rule: each is the one before it. Small ones are frequent.
  static Tree<HostTensor> fixed_batch(int64_t vocab_size, uint64_t seed) {
    Batch batch = make_batch(kRows, kLength);
    SplitMix64 random(seed);
    for (int64_t i = 0; i < kRows; ++i) {
      const RowView row = row_of(batch, i);
      for (size_t t = 0; t < row.input_ids.size(); ++t) {
        const double u = random.uniform();
        row.input_ids[t] = static_cast<int32_t>(u * u * static_cast<double>(vocab_size));
        row.target_labels[t] = row.input_ids[t > 0 ? t - 1 : 0];
      }
      std::ranges::fill(row.input_segment_ids, 1);
      std::iota(row.input_positions.begin(), row.input_positions.end(), 0);
    }
    return std::move(batch.tensors);
  }

  // (state, batch) -> {input of the head, logits}.
  Program activations() {
    std::vector<ProgramValue> inputs = steps_.leaves(), outputs;
    for (const auto& [name, type] : batch_spec(kRows, kLength)) inputs.push_back({name, type});
    const TensorFunction fn = [&, inputs](const Values& x) {
      Tree<Tensor> parameters, layers, batch;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string& name = inputs[i].name;
        if (i >= steps_.leaves().size())
          batch.emplace(name, x[i]);
        else if (name.starts_with("state/"))
          layers.emplace(name.substr(6), x[i]);
        else if (name.starts_with("model/"))
          parameters.emplace(name, x[i]);
      }
      Model& model = steps_.model();
      InvocationOptions options{.state = std::move(layers)};
      Values y = functional(model, std::move(parameters), std::move(options), [&] {
                   const Tensor hidden = model.hidden(batch);
                   return Values{hidden, model.logits_of(hidden)};
                 }).first;
      outputs = {{"hidden", y[0].type()}, {"logits", y[1].type()}};
      return y;
    };
    return trace_program("activations", fn, inputs, outputs);
  }
  std::vector<HostTensor> activations_now(const Tree<HostTensor>& batch) {
    Arrays arguments = steps_.arrays();
    for (const auto& [name, value] : batch)
      arguments.push_back(runtime_.make_array(value, PartitionSpec{}, Mesh{}));
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : activations_->execute(arguments)) out.push_back(y->to_host());
    return out;
  }

  static double rms(const HostTensor& x) {
    double sum = 0;
    for (int64_t i = 0; i < x.size(); ++i) sum += x.at(i) * x.at(i);
    return std::sqrt(sum / static_cast<double>(x.size()));
  }
  static double rms_of_change(const HostTensor& a, const HostTensor& b) {
    HostTensor change = a.astype(DType::kF32);
    for (int64_t i = 0; i < a.size(); ++i)
      change.values<float>()[i] = static_cast<float>(b.at(i) - a.at(i));
    return rms(change);
  }

  Runtime& runtime_;
  StepRun steps_;
  std::unique_ptr<Executable> activations_;
};

inline Child<Optimizer> adamw() {
  return AdamW::Config{.learning_rate = ConstantRate{.value = 0.01}};
}

/// Returns a recipe with widths times `factor`, prepared by MuP, in f32. Heads keep their size if
/// there are more of them, or grow.
enum class Widening { kMoreHeads, kLargerHeads };
inline Trainer::Config widened_by_mup(Trainer::Config config, int64_t factor,
                                      const Child<Optimizer>& optimizer = adamw(),
                                      Widening widening = Widening::kMoreHeads) {
  config.learner = Learner::Config{.optimizer = optimizer};
  if (factor > 1) {
    const auto base = widening == Widening::kMoreHeads ? widen(config, factor)
                                                       : widen(config, factor, {"model_dim"});
    apply_modifier(MuP::Config{.base = base}, "mup", config);
  }
  apply_modifier(CollectStats::Config{.at = "**.body", .stats = {Rms{}}}, "stats", config);
  return config;
}

/// Expects that no coordinate of the wide model leaves its size: none is `factor` times that of the
/// base model, nor has it shrunk by that. Logits start smaller, since logits of random weights are
/// smaller than learned ones: they and their changes may shrink, the changes by
/// `shrinks` at most.
inline void expect_same_size(const Coordinates& wide, const Coordinates& base, double factor,
                             double shrinks = 3) {
  const auto within = [](double a, double b, double low, double high, const char* what) {
    EXPECT_LE(a, b * high) << what;
    EXPECT_GE(a, b * low) << what;
  };
  ASSERT_FALSE(base.blocks_before.empty());
  ASSERT_EQ(base.blocks_after.size(), base.blocks_before.size());
  ASSERT_EQ(wide.blocks_before.size(), base.blocks_before.size());
  ASSERT_EQ(wide.blocks_after.size(), base.blocks_before.size());
  for (size_t i = 0; i < base.blocks_before.size(); ++i) {
    within(wide.blocks_before[i], base.blocks_before[i], 1 / factor, factor, "mixer at the start");
    within(wide.blocks_after[i], base.blocks_after[i], 1 / factor, factor, "mixer after the steps");
  }
  within(wide.logits, base.logits, 0, factor, "logits");
  within(wide.change_of_logits, base.change_of_logits, 1 / shrinks, factor, "change of logits");
  within(wide.change_of_hidden, base.change_of_hidden, 1 / factor, factor,
         "change of the head's input");
}

}  // namespace axle
