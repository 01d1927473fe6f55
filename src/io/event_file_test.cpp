#include "io/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>

#include "io/tfrecord.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A reader of the wire format that shares nothing with the writer: field -> raw values in their
// order.
using Fields = std::map<int, std::vector<std::string>>;
uint64_t take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(rest.at(0));
    rest.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}
Fields parse(std::string_view rest) {
  Fields fields;
  while (!rest.empty()) {
    const uint64_t key = take_varint(rest);
    std::string& value = fields[static_cast<int>(key >> 3)].emplace_back();
    if ((key & 7) == 0) {
      value = std::to_string(take_varint(rest));
      continue;
    }
    const size_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : take_varint(rest);
    if (size > rest.size()) throw std::runtime_error("cut off");
    value = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  return fields;
}
template <class T>
T number(const std::string& raw) {
  T value;
  EXPECT_EQ(raw.size(), sizeof(T));
  std::memcpy(&value, raw.data(), sizeof(T));
  return value;
}

std::vector<Fields> events_of(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  TfRecordReader reader(bytes, path.string());
  std::vector<Fields> events;
  while (const auto payload = reader.next()) events.push_back(parse(*payload));
  return events;
}

TEST(EventFile, BeginsWithItsVersion) {
  const TempDir dir;
  const EventFileWriter writer(dir / "train");
  EXPECT_THAT(writer.path().filename().string(), StartsWith("events.out.tfevents."));
  const auto events = events_of(writer.path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].at(3), ElementsAre("brain.Event:2"));
  EXPECT_GT(number<double>(events[0].at(1)[0]), 1.7e9);  // seconds since 1970
}

TEST(EventFile, ScalarsHoldStepTagValueAndPlugin) {
  const TempDir dir;
  EventFileWriter writer(dir.path());
  writer.scalars(300, {{"loss", 2.5}, {"grad_norm", -1e-3}});
  writer.flush();
  const auto events = events_of(writer.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[1].at(2), ElementsAre("300"));
  const Fields summary = parse(events[1].at(5)[0]);
  ASSERT_EQ(summary.at(1).size(), 2u);
  const Fields first = parse(summary.at(1)[0]), second = parse(summary.at(1)[1]);
  EXPECT_THAT(first.at(1), ElementsAre("grad_norm"));
  EXPECT_EQ(number<float>(first.at(2)[0]), -1e-3f);
  EXPECT_THAT(second.at(1), ElementsAre("loss"));
  EXPECT_EQ(number<float>(second.at(2)[0]), 2.5f);
  EXPECT_THAT(parse(parse(first.at(9)[0]).at(1)[0]).at(1), ElementsAre("scalars"));
}

TEST(EventFile, TextIsAStringTensorOfTheTextPlugin) {
  const TempDir dir;
  EventFileWriter writer(dir.path());
  writer.text(0, "config", "seed: 1");
  const Fields value = parse(parse(events_of(writer.path()).at(1).at(5)[0]).at(1)[0]);
  const Fields tensor = parse(value.at(8)[0]);
  EXPECT_THAT(tensor.at(1), ElementsAre("7"));  // DT_STRING
  EXPECT_THAT(tensor.at(8), ElementsAre("seed: 1"));
  EXPECT_THAT(parse(parse(value.at(9)[0]).at(1)[0]).at(1), ElementsAre("text"));
}

TEST(EventFile, WritersOfOneProcessDoNotShareAFile) {
  const TempDir dir;
  const EventFileWriter a(dir.path()), b(dir.path());
  EXPECT_NE(a.path(), b.path());
}

// What is written from then on would reach nobody.
TEST(EventFile, ARemovedFileIsToldByFlush) {
  const TempDir dir;
  EventFileWriter writer(dir.path());
  writer.scalar(1, "loss", 2.5);
  EXPECT_NO_THROW(writer.flush());
  std::filesystem::remove(writer.path());
  writer.scalar(2, "loss", 2.4);
  EXPECT_THAT(error_of<StorageError>([&] { writer.flush(); }),
              HasSubstr(writer.path().filename().string() + ": expected the file that is written"));
}

}  // namespace
}  // namespace axle
