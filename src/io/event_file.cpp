#include "io/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/error.h"
#include "io/proto_wire.h"
#include "io/tfrecord.h"

namespace axle {
namespace {

// Field numbers of the messages in TensorFlow's event.proto, summary.proto and tensor.proto.
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
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

std::filesystem::path new_path(const std::filesystem::path& folder) {
  static std::atomic<int> count = 0;  // two writers of one process never share a name
  make_directories(folder);
  char host[256] = "localhost";
  ::gethostname(host, sizeof(host) - 1);
  return folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                              static_cast<int64_t>(wall_time_secs()), host, ::getpid(), count++);
}

ProtoWriter plugin_metadata(std::string_view plugin, uint64_t data_class) {
  return ProtoWriter()
      .message(metadata::kPluginData, ProtoWriter().bytes(metadata::kPluginName, plugin))
      .varint(metadata::kDataClass, data_class);
}

std::string step_event(int64_t step, const ProtoWriter& values) {
  return tfrecord_frame(ProtoWriter()
                            .fixed64(event::kWallTime, wall_time_secs())
                            .varint(event::kStep, static_cast<uint64_t>(step))
                            .message(event::kSummary, values)
                            .text());
}

}  // namespace

EventFileWriter::EventFileWriter(const std::filesystem::path& folder) : file_(new_path(folder)) {
  file_.write(tfrecord_frame(ProtoWriter()
                                 .fixed64(event::kWallTime, wall_time_secs())
                                 .bytes(event::kFileVersion, "brain.Event:2")
                                 .text()));
}

void EventFileWriter::scalars(int64_t step, const Tree<double>& values) {
  ProtoWriter all;
  for (const auto& [tag, number] : values) {
    // simple_value rather than a tensor: every reader of event files knows it, TensorBoard shows
    // both alike.
    all.message(
        summary::kValue,
        ProtoWriter()
            .bytes(value::kTag, tag)
            .fixed32(value::kSimpleValue, static_cast<float>(number))
            .message(value::kMetadata, plugin_metadata("scalars", metadata::kDataClassScalar)));
  }
  file_.write(step_event(step, all));
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
  file_.write(step_event(step, all));
}

void EventFileWriter::flush() {
  file_.sync();
  if (file_.is_in_place()) return;
  throw StorageError(fmt::format(
      "{}: expected the file that is written, got it removed or replaced", path().string()));
}

}  // namespace axle
