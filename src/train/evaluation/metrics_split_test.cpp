// Tests that an evaluation gives the same metrics however its rows are split into batches.
#include <gmock/gmock.h>

#include <cmath>

#include "layers/models/causal_lm.h"
#include "pjrt/pjrt_runtime.h"
#include "train/config/run_modules.h"
#include "train/evaluation/evaler.h"
#include "train/record/progress.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

constexpr int64_t kRows = 8, kLength = 16;

// Eight rows of 16, 14, ..., 2 targets, a few of them in each batch. A target stands for two bytes.
class UnevenRows final : public Input {
 public:
  explicit UnevenRows(int64_t rows_per_batch) : rows_(rows_per_batch) {
    SyntheticInput all({.seq_len = kLength, .batch_size = kRows}, {.vocab_size = 32, .seed = 1},
                       Scope{});
    whole_ = all.next()->tensors;
    const auto labels = whole_.at("target_labels").values<int32_t>();
    for (int64_t row = 0; row < kRows; ++row)
      std::fill_n(labels.begin() + (row + 1) * kLength - 2 * row, 2 * row, -1);
  }
  Tree<Type> element_spec() const override {
    Tree<Type> out;
    for (const auto& [name, t] : whole_) out.emplace(name, Type{t.dtype(), {rows_, kLength}});
    return out;
  }
  std::optional<Batch> next() override {
    if (at_ == kRows) return std::nullopt;
    Batch batch;
    for (const auto& [name, type] : element_spec()) {
      HostTensor part(type);
      std::copy_n(whole_.at(name).values<int32_t>().begin() + at_ * kLength, part.size(),
                  part.values<int32_t>().begin());
      batch.tensors.emplace(name, std::move(part));
    }
    for (const int32_t label : batch.tensors.at("target_labels").values<int32_t>())
      batch.num_targets += label >= 0;
    batch.num_target_bytes = 2.0 * static_cast<double>(batch.num_targets);
    at_ += rows_;
    return batch;
  }
  std::string state() const override { return {}; }
  void restore(std::string_view) override { at_ = 0; }

 private:
  Tree<HostTensor> whole_;
  int64_t rows_, at_ = 0;
};

EvalResult evaluated(int64_t rows_per_batch) {
  const auto runtime = make_runtime({.backend = "interpreter"});
  Trainer::Config config = tiny_config();
  config.model.get_if<CausalLM>()->z_loss_scale = 1e-3;
  const RunModules training(config);
  UnevenRows input(rows_per_batch);
  const Program program = eval_program(training.program_spec({}, input.element_spec()));
  const auto executable = runtime->compile(program);
  // Parameters that differ from row to row, without a draw.
  Arrays parameters;
  for (const ProgramValue& value : program.inputs) {
    if (!value.name.starts_with("model/")) break;
    HostTensor x(value.type);
    double i = 0;
    for (float& v : x.values<float>()) v = static_cast<float>(0.4 * std::sin(1.7 * ++i));
    parameters.push_back(runtime->make_array(x, value.sharding, {}));
  }
  Progress progress(0, 1);
  LongWait wait(progress, "evaluating");
  return *evaluate_input(input, *executable, program, *runtime, parameters, wait);
}

TEST(Evaluation, MetricsAreTheSameForEverySplit) {
  const EvalResult whole = evaluated(kRows);
  EXPECT_EQ(whole.num_targets, 72);
  for (const char* name :
       {"accuracy", "bits_per_byte", "cross_entropy", "loss", "perplexity", "z_loss"})
    EXPECT_TRUE(whole.metrics.contains(name)) << name;
  EXPECT_GT(whole.metrics.at("accuracy"), 0);
  EXPECT_NEAR(std::remainder(whole.metrics.at("accuracy") * 72, 1), 0, 1e-4) << "a count of hits";
  const double nats = whole.metrics.at("cross_entropy");
  EXPECT_NEAR(whole.metrics.at("perplexity"), std::exp(nats), 1e-9);
  EXPECT_NEAR(whole.metrics.at("bits_per_byte"), nats / 2 / std::log(2.0), 1e-9);
  for (const int64_t rows : {1, 2, 4}) {
    const EvalResult split = evaluated(rows);
    EXPECT_EQ(split.num_targets, whole.num_targets);
    for (const auto& [name, value] : whole.metrics)
      EXPECT_NEAR(split.metrics.at(name), value, 2e-6 * std::abs(value)) << name << ", " << rows;
  }
}

}  // namespace
}  // namespace axle
