#include <gmock/gmock.h>

#include "io/event_reader_test.h"
#include "testing/temp_dir.h"
#include "train/record/summary_writer.h"

namespace axle {
namespace {

// Returns the losses in the event files of a folder, by step.
std::map<int64_t, float> losses(const std::filesystem::path& folder) {
  std::map<int64_t, float> out;
  for (const auto& [step, values] : curves_of(folder)) out[step] = values.at("loss");
  return out;
}

using Losses = std::map<int64_t, float>;

class TensorBoard : public ::testing::Test {
 protected:
  // Returns the writer of a run that was resumed after `restored_step`.
  TensorBoardWriter writer(int64_t restored_step) const {
    return TensorBoardWriter({.every_steps = 1},
                             {.dir = dir_.path(), .restored_step = restored_step}, Scope{});
  }
  Losses shown(const std::string& folder) const {
    return losses(dir_.path() / "tensorboard" / folder);
  }
  static StepRecord record(int64_t step, double loss, const std::string& split = {}) {
    return {.step = step, .split = split, .values = {{"loss", loss}}};
  }

  const TempDir dir_;
};

// Whatever the name of an evaler, its records have a folder of their own.
TEST_F(TensorBoard, EvaluationsStandApartFromTraining) {
  TensorBoardWriter writer = this->writer(0);
  writer.write(record(1, 1));
  double loss = 2;
  for (const char* split : {"train", "eval", "held_out", "train_eval"})
    writer.write(record(1, loss++, split));
  EXPECT_EQ(shown("train"), (Losses{{1, 1.f}}));
  EXPECT_EQ(shown("eval/train"), (Losses{{1, 2.f}}));
  EXPECT_EQ(shown("eval"), (Losses{{1, 3.f}}));
  EXPECT_EQ(shown("held_out"), (Losses{{1, 4.f}}));
  EXPECT_EQ(shown("train_eval"), (Losses{{1, 5.f}}));
}

TEST_F(TensorBoard, TheConfigIsATextOfTheTraining) {
  const std::string config = "# axle\nmodel:\n  class: CausalLM\n";
  TensorBoardWriter writer({.every_steps = 1},
                           {.dir = dir_.path(), .restored_step = 4, .config = config}, Scope{});
  writer.write(record(5, 1));
  writer.write(record(5, 1, "held_out"));
  writer.write(record(6, 1));
  const auto texts = [&](const std::string& folder) {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& file : list_directory(dir_.path() / "tensorboard" / folder)) {
      for (Fields& event : events_of(file)) {
        if (!event.contains(event_fields::kSummary)) continue;
        Fields summary = fields_of(event.at(event_fields::kSummary)[0]);
        Fields value = fields_of(summary.at(event_fields::kValues)[0]);
        if (!value.contains(event_fields::kTensor)) continue;
        Fields tensor = fields_of(value.at(event_fields::kTensor)[0]);
        out.emplace_back(value.at(event_fields::kTag)[0], tensor.at(event_fields::kStrings)[0]);
      }
    }
    return out;
  };
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"config", "    # axle\n    model:\n      class: CausalLM\n    \n"}};
  EXPECT_EQ(texts("train"), expected) << "once, as Markdown shows code";
  EXPECT_TRUE(texts("held_out").empty());
  EXPECT_EQ(shown("train"), (Losses{{5, 1.f}, {6, 1.f}}));
}

// Also of a run that is too short for a record in between.
TEST_F(TensorBoard, TheLastStepIsRecorded) {
  const auto train = [&](int64_t restored_step, int64_t last_step) {
    TensorBoardWriter writer({.every_steps = 10},
                             {.dir = dir_.path(), .restored_step = restored_step}, Scope{});
    for (int64_t step = restored_step + 1; step <= last_step; ++step)
      writer.write(record(step, static_cast<double>(step)));
  };
  train(0, 6);
  EXPECT_EQ(shown("train"), (Losses{{6, 6.f}}));
  train(6, 13);
  EXPECT_EQ(shown("train"), (Losses{{6, 6.f}, {10, 10.f}, {13, 13.f}}));
  train(13, 20);
  EXPECT_EQ(shown("train"), (Losses{{6, 6.f}, {10, 10.f}, {13, 13.f}, {20, 20.f}}));
}

TEST_F(TensorBoard, AResumeShowsEachStepOnce) {
  TensorBoardWriter first = writer(0);
  for (const int64_t step : {1, 2, 3, 4}) first.write(record(step, 10));
  for (const int64_t step : {2, 4}) first.write(record(step, 10, "held_out"));
  TensorBoardWriter second = writer(2);
  second.write(record(2, 20, "held_out"));  // as if metrics.jsonl had lost it
  for (const int64_t step : {3, 4, 5}) second.write(record(step, 20));
  TensorBoardWriter third = writer(4);
  third.write(record(6, 30));
  third.write(record(6, 30, "held_out"));
  EXPECT_EQ(shown("train"), (Losses{{1, 10.f}, {2, 10.f}, {3, 20.f}, {4, 20.f}, {6, 30.f}}));
  EXPECT_EQ(shown("held_out"), (Losses{{2, 20.f}, {6, 30.f}}));
}

}  // namespace
}  // namespace axle
