// Small tasks with a known answer, and the mixers that learn them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "data/packing.h"
#include "data/random.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "layers/positions/position_embedding.h"
#include "layers/recurrent/recurrent.h"
#include "layers/state_space/linear_attention.h"
#include "layers/state_space/mamba.h"
#include "testing/plugin_fixture.h"
#include "train/step_run_test.h"

namespace axle {

/// A token has a value below kNumSymbols. Tasks mark a place by ids from kNumSymbols on.
inline constexpr int64_t kNumSymbols = 8, kTaskVocabulary = 24, kTaskLength = 12, kTaskRows = 64;

enum class LearningTask {
  kMapping,  // each label is a fixed function of its token
  kCopying,  // six symbols, then the same six again
  kRecall    // four pairs of a key and a value, then the four keys: the label of each is its value
};
inline std::string to_text(LearningTask task) {
  const char* const names[] = {"Mapping", "Copying", "Recall"};
  return names[static_cast<size_t>(task)];
}

namespace detail {

inline int32_t symbol(SplitMix64& random) {
  return static_cast<int32_t>(random.below(kNumSymbols));
}

inline void fill_mapping(const RowView& row, SplitMix64& random) {
  for (size_t t = 0; t < row.input_ids.size(); ++t) {
    row.input_ids[t] = symbol(random);
    row.target_labels[t] = (5 * row.input_ids[t] + 3) % static_cast<int32_t>(kNumSymbols);
  }
}
inline void fill_copying(const RowView& row, SplitMix64& random) {
  constexpr size_t kHalf = kTaskLength / 2;
  for (size_t t = 0; t < kHalf; ++t) {
    row.input_ids[t] = symbol(random);
    row.target_labels[t] = -1;
    row.target_labels[t + kHalf] = row.input_ids[t];
    // The first of the copies follows a mark; each other one follows the symbol before it.
    row.input_ids[t + kHalf] = t == 0 ? static_cast<int32_t>(kNumSymbols) : row.input_ids[t - 1];
  }
}
inline void fill_recall(const RowView& row, SplitMix64& random) {
  constexpr size_t kPairs = kTaskLength / 3;
  constexpr auto kFirstKey = static_cast<int32_t>(kNumSymbols) + 1;
  const std::vector<int64_t> keys = permutation(kNumSymbols, random.next()),
                             asked = permutation(kPairs, random.next());
  for (size_t i = 0; i < kPairs; ++i) {
    row.input_ids[2 * i] = kFirstKey + static_cast<int32_t>(keys[i]);
    row.input_ids[2 * i + 1] = symbol(random);
    row.target_labels[2 * i] = row.target_labels[2 * i + 1] = -1;
  }
  for (size_t i = 0; i < kPairs; ++i) {
    const auto pair = static_cast<size_t>(2 * asked[i]);
    row.input_ids[2 * kPairs + i] = row.input_ids[pair];
    row.target_labels[2 * kPairs + i] = row.input_ids[pair + 1];
  }
}

}  // namespace detail

/// Returns fresh rows of the tasks by turns.
inline Tree<HostTensor> task_batch(const std::vector<LearningTask>& tasks, SplitMix64& random) {
  Batch batch = make_batch(kTaskRows, kTaskLength);
  for (int64_t i = 0; i < kTaskRows; ++i) {
    const RowView row = row_of(batch, i);
    switch (tasks[static_cast<size_t>(i) % tasks.size()]) {
      case LearningTask::kMapping:
        detail::fill_mapping(row, random);
        break;
      case LearningTask::kCopying:
        detail::fill_copying(row, random);
        break;
      case LearningTask::kRecall:
        detail::fill_recall(row, random);
        break;
    }
    std::ranges::fill(row.input_segment_ids, 1);
    std::iota(row.input_positions.begin(), row.input_positions.end(), 0);
  }
  return std::move(batch.tensors);
}

/// A mixer, the tasks that it can solve, and the steps after which it does.
struct LearningCase {
  std::string name;
  Child<Mixer> mixer;
  std::vector<LearningTask> tasks;
  int num_steps = 0;
};

/// Trains two layers of the mixer in a decoder with learned positions, and returns the share of
/// correct answers for each task, of fresh rows after the last step.
class LearningTest : public PluginTest {
 protected:
  /// The last steps, whose means are the result.
  static constexpr int kMeasuredSteps = 4;

  // Recall is found late and at once: the rate is high for long.
  static CosineWithWarmup falling_rate(int64_t num_steps) {
    return {.peak = 3e-3,
            .warmup_steps = 20,
            .max_step = num_steps + kMeasuredSteps * 2,
            .decay_begin_step = num_steps * 3 / 4};
  }
  StepRun run_of(const LearningCase& c) {
    const CausalLM::Config model{
        .decoder = Decoder::Config{
            .model_dim = 32,
            .vocab_size = kTaskVocabulary,
            .max_seq_len = kTaskLength,
            .position_emb = LearnedPositions::Config{},
            .layers = Repeat::Config{.num_layers = 2, .layer = PreNorm::Config{.body = c.mixer}},
            .lm_head = LmHead::Config{}}};
    return {*runtime_,
            {.model = model,
             .learner = Learner::Config{.optimizer = AdamW::Config{.learning_rate =
                                                                       falling_rate(c.num_steps)}},
             .batch = batch_spec(kTaskRows, kTaskLength),
             .layer_summaries = true}};
  }
  /// Returns the metrics of the last steps, for each task alone.
  std::vector<Tree<double>> learn(const LearningCase& c) {
    StepRun run = run_of(c);
    run.set_state(run.initial_state(1));
    SplitMix64 random(7);
    for (int i = 0; i < c.num_steps; ++i) run.step(task_batch(c.tasks, random));
    std::vector<Tree<double>> out;
    for (const LearningTask task : c.tasks) {
      Tree<double> mean;
      for (int i = 0; i < kMeasuredSteps; ++i) {
        for (const auto& [name, value] : run.step(task_batch({task}, random)))
          mean[name] += value / kMeasuredSteps;
      }
      out.push_back(std::move(mean));
    }
    return out;
  }
  void expect_learned(const LearningCase& c) {
    const std::vector<Tree<double>> metrics = learn(c);
    for (size_t i = 0; i < c.tasks.size(); ++i)
      EXPECT_GT(metrics[i].at("accuracy"), 0.97) << c.name << ", " << to_text(c.tasks[i]);
  }
};

/// Returns a row for every registered mixer, and further ones for variants. The first word of a
/// name is that of the class.
inline std::vector<LearningCase> learning_cases() {
  using enum LearningTask;
  const std::vector<LearningTask> all = {kCopying, kRecall};
  const Attention::Config attention{.num_heads = 4};
  Attention::Config sigmoid = attention, window = attention, rope = attention;
  sigmoid.core = SigmoidAttention::Config{};
  window.mask = SlidingWindowMask::Config{.window = 8};
  rope.qkv = RoPE::Config{};
  const FeedForward::Config hidden{.hidden_dim = FixedDim{32}};
  return {
      {"Attention", attention, all, 2000},
      {"Attention rope", rope, all, 2000},
      {"Attention sigmoid", sigmoid, all, 2000},
      // The first pair is out of reach of the last query.
      {"Attention window", window, {kCopying}, 1000},
      {"FeedForward", hidden, {kMapping}, 100},
      {"LatentAttention",
       LatentAttention::Config{
           .num_heads = 4, .kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .value_dim = 8},
       all, 2000},
      // Turned queries and keys find the neighbour, and weights of both signs tell keys apart.
      {"LinearAttention",
       LinearAttention::Config{
           .num_heads = 2, .head_dim = 32, .qkv = RoPE::Config{}, .normalise = false},
       all, 2000},
      {"Mamba1", Mamba1::Config{}, all, 2000},
      {"Mamba2", Mamba2::Config{.head_dim = 16, .state_dim = 16, .chunk_size = 12}, all, 2000},
      {"MoE", MoE::Config{.num_experts = 4, .hidden_dim = FixedDim{32}}, {kMapping}, 200},
      {"RAttention", RAttention::Config{.num_heads = 2, .window = 4, .chunk_size = 12}, all, 2000},
      {"Recurrent", Recurrent::Config{.cell = LSTMCell::Config{.hidden_dim = 256}}, all, 6000},
  };
}

inline LearningCase learning_case(const std::string& name) {
  for (const LearningCase& c : learning_cases())
    if (c.name == name) return c;
  throw InternalError("learning_cases: no case is called " + name);
}

}  // namespace axle
