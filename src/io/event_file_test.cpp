#include "io/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/event_reader_test.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Returns the name of the TensorBoard plugin that shows the value.
std::vector<std::string> plugin_of(const Fields& value) {
  const Fields metadata = fields_of(value.at(event_fields::kMetadata)[0]);
  return fields_of(metadata.at(event_fields::kPluginData)[0]).at(event_fields::kPluginName);
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(EventFile, BeginsWithItsVersionAndItsFirstStep) {
  const TempDir dir;
  const EventFileWriter writer(dir / "train", 301);
  EXPECT_THAT(writer.path().filename().string(), StartsWith("events.out.tfevents."));
  const auto events = events_of(writer.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0].at(event_fields::kFileVersion), ElementsAre("brain.Event:2"));
  EXPECT_THAT(events[1].at(event_fields::kStep), ElementsAre("301"));
  EXPECT_THAT(fields_of(events[1].at(event_fields::kSessionLog)[0]).at(event_fields::kStatus),
              ElementsAre("1"));  // SessionLog.START
  EXPECT_GT(number_of<double>(events[0].at(event_fields::kWallTime)[0]),
            1.7e9);  // seconds since 1970
}

TEST(EventFile, ScalarsHoldStepTagValueAndPlugin) {
  const TempDir dir;
  EventFileWriter writer(dir.path(), 1);
  writer.scalars(300, {{"loss", 2.5}, {"grad_norm", -1e-3}});
  writer.flush();
  const auto events = events_of(writer.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_THAT(events[2].at(event_fields::kStep), ElementsAre("300"));
  const Fields summary = fields_of(events[2].at(event_fields::kSummary)[0]);
  ASSERT_EQ(summary.at(event_fields::kValues).size(), 2u);
  const Fields first = fields_of(summary.at(event_fields::kValues)[0]),
               second = fields_of(summary.at(event_fields::kValues)[1]);
  EXPECT_THAT(first.at(event_fields::kTag), ElementsAre("grad_norm"));
  EXPECT_EQ(number_of<float>(first.at(event_fields::kSimpleValue)[0]), -1e-3f);
  EXPECT_THAT(second.at(event_fields::kTag), ElementsAre("loss"));
  EXPECT_EQ(number_of<float>(second.at(event_fields::kSimpleValue)[0]), 2.5f);
  EXPECT_THAT(plugin_of(first), ElementsAre("scalars"));
}

TEST(EventFile, TextIsAStringTensorOfTheTextPlugin) {
  const TempDir dir;
  EventFileWriter writer(dir.path(), 1);
  writer.text(0, "config", "seed: 1");
  const Fields value =
      fields_of(fields_of(events_of(writer.path()).at(2).at(event_fields::kSummary)[0])
                    .at(event_fields::kValues)[0]);
  const Fields tensor = fields_of(value.at(event_fields::kTensor)[0]);
  EXPECT_THAT(tensor.at(event_fields::kDType), ElementsAre("7"));  // DT_STRING
  EXPECT_THAT(tensor.at(event_fields::kStrings), ElementsAre("seed: 1"));
  EXPECT_THAT(plugin_of(value), ElementsAre("text"));
}

TEST(EventFile, WritersOfOneProcessDoNotShareAFile) {
  const TempDir dir;
  const EventFileWriter a(dir.path(), 1), b(dir.path(), 1);
  EXPECT_NE(a.path(), b.path());
}

// Events written afterwards would reach no reader.
TEST(EventFile, FlushReportsARemovedFile) {
  const TempDir dir;
  EventFileWriter writer(dir.path(), 1);
  writer.scalar(1, "loss", 2.5);
  EXPECT_NO_THROW(writer.flush());
  std::filesystem::remove(writer.path());
  writer.scalar(2, "loss", 2.4);
  EXPECT_THAT(error_of<StorageError>([&] { writer.flush(); }),
              HasSubstr(writer.path().filename().string() +
                        ": expected the file to stay in place during the run"));
}

using LossOf = std::map<int64_t, float>;
LossOf losses(const TempDir& dir) {
  LossOf out;
  for (const auto& [step, values] : curves_of(dir.path())) out[step] = values.at("loss");
  return out;
}

TEST(EventFile, NewFileReplacesEventsFromItsFirstStepOn) {
  const TempDir dir;
  const auto write = [&](int64_t first_step, const LossOf& values) {
    EventFileWriter writer(dir.path(), first_step);
    for (const auto& [step, loss] : values) writer.scalar(step, "loss", loss);
  };
  write(1, {{1, 5.f}, {2, 4.f}, {3, 3.f}});
  write(3, {{3, 3.5f}, {4, 2.f}, {6, 1.f}});
  write(5, {});
  write(5, {{7, 0.5f}});
  EXPECT_EQ(losses(dir), (LossOf{{1, 5.f}, {2, 4.f}, {3, 3.5f}, {4, 2.f}, {7, 0.5f}}));
}

// Readers sort files by name: the order must hold within one second and after the clock was set
// back.
TEST(EventFile, NewFileSortsAfterExistingFiles) {
  const TempDir dir;
  std::string last = "events.out.tfevents.9000000000.host.1.0";
  for (const std::string& name :
       {last, std::string("events.out.tfevents.other"),
        std::string("events.out.tfevents.99999999999999"), std::string("9999999999.txt")})
    replace_file(dir.path() / name, "");
  for (int i = 0; i < 12; ++i) {
    const EventFileWriter writer(dir.path(), 1);
    const std::string name = writer.path().filename().string();
    EXPECT_GT(name, last);
    last = name;
  }
}

}  // namespace
}  // namespace axle
