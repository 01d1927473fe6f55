// The coordinate check of MuP: activations and their changes over some steps keep their size as a
// recipe becomes wider.
//
// Source: Yang et al. 2022, arXiv 2203.03466, appendix D.1.
#pragma once

#include <fmt/format.h>

#include "base/text/text.h"
#include "config/document/print.h"
#include "config/set.h"
#include "data/packing.h"
#include "data/random.h"
#include "learn/optimizers/adamw.h"
#include "modifiers/collect_stats.h"
#include "nn/functional.h"
#include "recipes/recipe.h"
#include "testing/plugin_fixture.h"
#include "train/mup/mup.h"
#include "train/step_run_test.h"

namespace axle {

/// Multiplies the widths of a model, and their number of heads. Returns the old values by path.
inline std::map<std::string, std::string> widen(Trainer::Config& config, int64_t factor) {
  const std::vector<std::string> names{"model_dim", "num_heads", "num_kv_heads", "query_rank",
                                       "kv_rank"};
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

class MuPCoordinates : public PluginTest {
 protected:
  static constexpr int64_t kRows = 4, kLength = 32;
  static constexpr int kSteps = 4;

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

  /// Returns {input of the head, logits} of a batch.
  std::vector<HostTensor> activations(Model& model, const Tree<HostTensor>& state,
                                      const Tree<HostTensor>& batch) {
    std::vector<HostTensor> arguments;
    std::vector<std::string> names;
    for (const Tree<HostTensor>* tree : {&state, &batch}) {
      for (const auto& [name, value] : *tree) {
        names.push_back(name);
        arguments.push_back(value);
      }
    }
    return run(
        [&](const Values& x) {
          Tree<Tensor> parameters, layers, inputs;
          for (size_t i = 0; i < names.size(); ++i) {
            if (batch.contains(names[i]))
              inputs.emplace(names[i], x[i]);
            else if (names[i].starts_with("state/"))
              layers.emplace(names[i].substr(6), x[i]);
            else
              parameters.emplace(names[i], x[i]);
          }
          InvocationOptions options{.state = std::move(layers)};
          return functional(model, std::move(parameters), std::move(options),
                            [&] {
                              const Tensor hidden = model.hidden(inputs);
                              return Values{hidden, model.logits(inputs)};
                            })
              .first;
        },
        arguments);
  }

  static double rms(const HostTensor& x) {
    double sum = 0;
    for (int64_t i = 0; i < x.size(); ++i) sum += x.at(i) * x.at(i);
    return std::sqrt(sum / static_cast<double>(x.size()));
  }
  static double rms_of_change(const HostTensor& a, const HostTensor& b) {
    HostTensor change = a.astype(DType::kF32);
    for (int64_t i = 0; i < a.size(); ++i)
      change.values<float>()[static_cast<size_t>(i)] = static_cast<float>(b.at(i) - a.at(i));
    return rms(change);
  }

  /// Returns the recipe with widths times `factor`, prepared by MuP, in f32.
  static Trainer::Config prepared(const std::string& name, int64_t factor) {
    Trainer::Config config = recipe(name);
    config.learner =
        Learner::Config{.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 0.01}}};
    if (factor > 1) {
      const auto base = widen(config, factor);
      apply_modifier(MuP::Config{.base = base}, "mup", config);
    }
    apply_modifier(CollectStats::Config{.at = "**.body", .stats = {Rms{}}}, "stats", config);
    return config;
  }

  /// Trains the config for some steps on one batch.
  Coordinates coordinates(const Trainer::Config& config, int64_t seed, int steps = kSteps) {
    const std::unique_ptr<Model> model = config.model.build({}, Scope{.path = "model"});
    const Tree<HostTensor> batch =
        fixed_batch(std::min<int64_t>(model->vocab_size(), 256), static_cast<uint64_t>(seed) + 5);
    StepRun run(*runtime_, {.model = config.model,
                            .learner = config.learner,
                            .batch = batch_spec(kRows, kLength),
                            .layer_summaries = true});
    const auto kept = [](const Tree<HostTensor>& state) {
      Tree<HostTensor> out;
      for (const auto& [name, value] : state) {
        if (name.starts_with("model/") || name.starts_with("state/")) out.emplace(name, value);
      }
      return out;
    };
    const Tree<HostTensor> start = run.initial_state(seed);
    const std::vector<HostTensor> before = activations(*model, kept(start), batch);
    run.set_state(start);
    Coordinates out;
    for (int i = 0; i < steps; ++i) {
      const Tree<double> metrics = run.step(batch);
      std::vector<double> blocks;
      for (const auto& [name, value] : metrics) {
        if (name.starts_with("summary/") && name.ends_with("output/rms")) blocks.push_back(value);
      }
      (i == 0 ? out.blocks_before : out.blocks_after) = blocks;
      (i == 0 ? out.first_loss : out.last_loss) = metrics.at("loss");
    }
    const std::vector<HostTensor> after = activations(*model, kept(run.state()), batch);
    out.logits = rms(after[1]);
    out.change_of_logits = rms_of_change(before[1], after[1]);
    out.change_of_hidden = rms_of_change(before[0], after[0]);
    return out;
  }
};

/// Expects that no coordinate of the wide model leaves its size: none is `factor` times that of the
/// base model, and none that learns shrinks by it.
inline void expect_same_size(const Coordinates& wide, const Coordinates& base, double factor) {
  const auto within = [&](double a, double b, const char* what, bool may_shrink = false) {
    EXPECT_LE(a, b * factor) << what;
    EXPECT_GE(a, may_shrink ? 0 : b / factor) << what;
  };
  ASSERT_EQ(wide.blocks_before.size(), base.blocks_before.size());
  for (size_t i = 0; i < base.blocks_before.size(); ++i) {
    within(wide.blocks_before[i], base.blocks_before[i], "mixer at the start");
    within(wide.blocks_after[i], base.blocks_after[i], "mixer after the steps");
  }
  within(wide.logits, base.logits, "logits", true);
  within(wide.change_of_logits, base.change_of_logits, "change of logits");
  within(wide.change_of_hidden, base.change_of_hidden, "change of the head's input");
}

}  // namespace axle
