#include "io/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text_table.h"
#include "io/proto.h"

namespace axle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "framing writes integers as they lie in memory");
constexpr size_t kHeaderBytes = 12;
constexpr size_t kFooterBytes = 4;

template <class T>
T load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string tfrecord_frame(std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + kHeaderBytes + kFooterBytes);
  append(out, static_cast<uint64_t>(payload.size()));
  append(out, masked_crc32c(out));
  out.append(payload);
  append(out, masked_crc32c(payload));
  return out;
}

std::optional<std::string_view> TfRecordReader::next() {
  const std::string_view rest = bytes_.substr(offset_);
  if (rest.empty()) return std::nullopt;
  const auto fail = [&](std::string_view what) {
    throw StorageError(
        fmt::format("{}: expected a whole record at offset {}, got {}", where_, offset_, what));
  };
  if (rest.size() < kHeaderBytes) fail(counted(std::ssize(rest), "byte") + " of its header");
  if (load<uint32_t>(rest, 8) != masked_crc32c(rest.substr(0, 8)))
    fail("a wrong checksum of its length");
  const auto length = load<uint64_t>(rest, 0);
  if (length > rest.size() - kHeaderBytes || rest.size() - kHeaderBytes - length < kFooterBytes) {
    fail(fmt::format("{} of its {} bytes", rest.size() - kHeaderBytes, length + kFooterBytes));
  }
  const std::string_view payload = rest.substr(kHeaderBytes, length);
  if (load<uint32_t>(rest, kHeaderBytes + length) != masked_crc32c(payload))
    fail("a wrong checksum of its bytes");
  offset_ += kHeaderBytes + length + kFooterBytes;
  return payload;
}

namespace {

// Field numbers of the messages in TensorFlow's event.proto, summary.proto and tensor.proto.
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace session_log {
constexpr int kStatus = 1;
constexpr uint64_t kStart = 1;
}  // namespace session_log
namespace summary {
constexpr int kValue = 1;
}
namespace value {
constexpr int kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr int kPluginData = 1, kDataClass = 4;
constexpr int kPluginName = 1;  // of PluginData
constexpr uint64_t kDataClassScalar = 1, kDataClassTensor = 2;
}  // namespace metadata
namespace tensor {
constexpr int kDType = 1, kShape = 2, kStringValue = 8;
constexpr uint64_t kString = 7;
}  // namespace tensor

double wall_time_secs() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::string_view kNameBegin = "events.out.tfevents.";

// Readers sort the files of a folder by name. A new file therefore gets more seconds in its name
// than every file that exists, even if two runs begin in the same second or the clock was set back.
int64_t seconds_of_name(const std::filesystem::path& folder) {
  constexpr int64_t kEnd = 9'999'999'999;  // ten digits
  auto out = static_cast<int64_t>(wall_time_secs());
  for (const auto& path : list_directory(folder)) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kNameBegin)) continue;
    int64_t theirs = 0;
    std::from_chars(name.data() + kNameBegin.size(), name.data() + name.size(), theirs);
    if (theirs < kEnd) out = std::max(out, theirs + 1);
  }
  return out;
}

std::filesystem::path new_path(const std::filesystem::path& folder) {
  static std::atomic<int> count = 0;  // keeps two writers of one process apart
  make_directories(folder);
  char host[256] = "localhost";
  ::gethostname(host, sizeof(host) - 1);
  return folder / fmt::format("{}{:010}.{}.{}.{}", kNameBegin, seconds_of_name(folder), host,
                              ::getpid(), count++);
}

ProtoWriter plugin_metadata(std::string_view plugin, uint64_t data_class) {
  return ProtoWriter()
      .message(metadata::kPluginData, ProtoWriter().bytes(metadata::kPluginName, plugin))
      .varint(metadata::kDataClass, data_class);
}

ProtoWriter event_at(int64_t step) {
  return ProtoWriter()
      .fixed64(event::kWallTime, wall_time_secs())
      .varint(event::kStep, static_cast<uint64_t>(step));
}

std::string summary_event(int64_t step, const ProtoWriter& values) {
  return tfrecord_frame(event_at(step).message(event::kSummary, values).text());
}

}  // namespace

EventFileWriter::EventFileWriter(const std::filesystem::path& folder, int64_t first_step)
    : file_(new_path(folder)) {
  file_.write(tfrecord_frame(ProtoWriter()
                                 .fixed64(event::kWallTime, wall_time_secs())
                                 .bytes(event::kFileVersion, "brain.Event:2")
                                 .text()));
  const auto start = ProtoWriter().varint(session_log::kStatus, session_log::kStart);
  file_.write(tfrecord_frame(event_at(first_step).message(event::kSessionLog, start).text()));
}

void EventFileWriter::scalars(int64_t step, const Tree<double>& values) {
  ProtoWriter all;
  for (const auto& [tag, number] : values) {
    // simple_value instead of a tensor: every reader of event files knows it, and TensorBoard shows
    // both alike.
    all.message(
        summary::kValue,
        ProtoWriter()
            .bytes(value::kTag, tag)
            .fixed32(value::kSimpleValue, static_cast<float>(number))
            .message(value::kMetadata, plugin_metadata("scalars", metadata::kDataClassScalar)));
  }
  file_.write(summary_event(step, all));
}

void EventFileWriter::text(int64_t step, std::string_view tag, std::string_view markdown) {
  const ProtoWriter content = ProtoWriter()
                                  .varint(tensor::kDType, tensor::kString)
                                  .message(tensor::kShape, ProtoWriter())
                                  .bytes(tensor::kStringValue, markdown);
  ProtoWriter all;
  all.message(summary::kValue,
              ProtoWriter()
                  .bytes(value::kTag, tag)
                  .message(value::kTensor, content)
                  .message(value::kMetadata, plugin_metadata("text", metadata::kDataClassTensor)));
  file_.write(summary_event(step, all));
}

void EventFileWriter::flush() {
  file_.sync();
  file_.check_in_place();
}

}  // namespace axle
