// Reads event files as another program would.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/event_file.h"
#include "io/file.h"

namespace axle {

/// Field numbers of TensorBoard's messages: event.proto, summary.proto and tensor.proto. They stand
/// here a second time on purpose: the reader shares no code with the writer.
namespace event_fields {
enum Event { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SessionLog { kStatus = 1 };
enum Summary { kValues = 1 };
enum Value { kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9 };
enum Metadata { kPluginData = 1, kPluginName = 1 };
enum Tensor { kDType = 1, kStrings = 8 };
}  // namespace event_fields

/// A message: field number -> raw values in their order.
using Fields = std::map<int, std::vector<std::string>>;
inline uint64_t take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(rest.at(0));
    rest.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}
inline Fields fields_of(std::string_view rest) {
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
T number_of(const std::string& raw) {
  T value;
  EXPECT_EQ(raw.size(), sizeof(T));
  std::memcpy(&value, raw.data(), sizeof(T));
  return value;
}

/// Returns the events of one file, up to its end or to a record that is cut off.
inline std::vector<Fields> events_of(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  TfRecordReader reader(bytes, path.string());
  std::vector<Fields> events;
  try {
    while (const auto payload = reader.next()) events.push_back(fields_of(*payload));
  } catch (const StorageError&) {
  }
  return events;
}

/// step -> tag -> value of the time series.
using Curves = std::map<int64_t, std::map<std::string, float>>;

/// Returns what TensorBoard shows of a folder. It reads the files in order of their names. Every
/// session start except the first removes the values from its step on. Fails the test if a step
/// occurs twice.
inline Curves curves_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files = list_directory(folder);
  std::erase_if(files, [](const auto& path) { return std::filesystem::is_directory(path); });
  Curves out;
  bool is_begun = false;
  for (const auto& file : files) {
    for (Fields& event : events_of(file)) {
      const int64_t step =
          event.contains(event_fields::kStep) ? std::stoll(event.at(event_fields::kStep)[0]) : 0;
      if (event.contains(event_fields::kSessionLog) &&
          fields_of(event.at(event_fields::kSessionLog)[0]).at(event_fields::kStatus)[0] == "1") {
        if (is_begun) out.erase(out.lower_bound(step), out.end());
        is_begun = true;
      }
      if (!event.contains(event_fields::kSummary)) continue;
      const Fields summary = fields_of(event.at(event_fields::kSummary)[0]);
      const Fields first = fields_of(summary.at(event_fields::kValues)[0]);
      if (!first.contains(event_fields::kSimpleValue)) continue;  // a text
      EXPECT_FALSE(out.contains(step)) << file << " has step " << step << " once more";
      for (const std::string& raw : summary.at(event_fields::kValues)) {
        Fields value = fields_of(raw);
        out[step][value.at(event_fields::kTag)[0]] =
            number_of<float>(value.at(event_fields::kSimpleValue)[0]);
      }
    }
  }
  return out;
}

}  // namespace axle
