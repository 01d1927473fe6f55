#include "checkpoint/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "base/text/text_table.h"
#include "checkpoint/folder.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

// Assembles the tensors of one file, chunk by chunk.
class Assembly {
 public:
  Assembly(const Manifest& manifest, size_t file) {
    for (const auto& [path, tensor] : manifest.tensors) {
      if (tensor.file == file) parts_.push_back({&path, &tensor, {}});
    }
    std::ranges::sort(parts_, {}, [](const Part& p) { return p.tensor->offset; });
  }

  void add(int64_t begin, std::span<const std::byte> chunk, const TensorSink& sink) {
    const int64_t end = begin + std::ssize(chunk);
    // The tensors before first_ are complete.
    for (size_t i = first_; i < parts_.size() && parts_[i].tensor->offset < end; ++i) {
      Part& part = parts_[i];
      const int64_t start = part.tensor->offset;
      const int64_t stop = start + static_cast<int64_t>(part.tensor->type.num_bytes());
      if (!part.value) part.value.emplace(part.tensor->type);
      const int64_t from = std::max(begin, start), to = std::min(end, stop);
      if (from < to) {
        std::memcpy(part.value->bytes().data() + (from - start), chunk.data() + (from - begin),
                    static_cast<size_t>(to - from));
      }
      if (stop <= end && !part.done) {
        part.done = true;
        sink(*part.path, std::move(*part.value));
      }
    }
    while (first_ < parts_.size() && parts_[first_].done) ++first_;
  }

  /// Emits the tensors without elements at the end of the file; no chunk holds them.
  void finish(const TensorSink& sink) {
    for (Part& part : parts_) {
      if (!part.done) sink(*part.path, HostTensor(part.tensor->type));
    }
  }

 private:
  struct Part {
    const std::string* path;
    const StoredTensor* tensor;
    std::optional<HostTensor> value;
    bool done = false;
  };
  std::vector<Part> parts_;  // sorted by offset
  size_t first_ = 0;
};

void check_size(const FileReader& file, int64_t expected, int64_t actual) {
  if (actual == expected) return;
  check_no_text(file, "tensors of a checkpoint");
  throw StorageError(fmt::format("{}: offset {}: expected {} in all, got {}", file.path().string(),
                                 std::min(expected, actual), counted(expected, "byte"), actual));
}

}  // namespace

StoredCheckpoint::StoredCheckpoint(const fs::path& root, int64_t step)
    : folder_(checkpoint_folder(root, step)) {
  const fs::path path = folder_ / kManifestName;
  manifest_ = parse_manifest(axle::read_file(path, kMaxManifestBytes), path);
  if (manifest_.step != step) {
    throw StorageError(fmt::format("{}: expected the checkpoint of step {}, got that of step {}",
                                   path.string(), step, manifest_.step));
  }
}

void StoredCheckpoint::check_sizes() const {
  for (const DataFile& entry : manifest_.files) {
    const FileReader file(folder_ / entry.name);
    check_size(file, entry.bytes, file.size());
  }
}

void StoredCheckpoint::read(const TensorSink& sink) const {
  check_sizes();
  for (size_t i = 0; i < manifest_.files.size(); ++i) read_file(i, &sink);
}

void StoredCheckpoint::verify() const {
  check_sizes();
  for (size_t i = 0; i < manifest_.files.size(); ++i) read_file(i, nullptr);
}

void StoredCheckpoint::read_file(size_t index, const TensorSink* sink) const {
  const DataFile& entry = manifest_.files[index];
  const fs::path path = folder_ / entry.name;
  const FileReader file(path);
  check_size(file, entry.bytes, file.size());
  Assembly assembly(manifest_, index);
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(entry.bytes, manifest_.chunk_bytes)));
  int64_t offset = 0;
  for (const uint32_t expected : entry.crc32c) {
    const auto size = static_cast<size_t>(std::min(entry.bytes - offset, manifest_.chunk_bytes));
    const std::span<std::byte> bytes = std::span(chunk).first(size);
    const size_t got = file.read_some(offset, bytes);
    if (got != size) check_size(file, entry.bytes, offset + static_cast<int64_t>(got));
    if (const uint32_t actual = crc32c(bytes); actual != expected) {
      throw StorageError(
          fmt::format("{}: offset {}: expected {} with CRC-32C {:08x}, got {:08x}", path.string(),
                      offset, counted(static_cast<int64_t>(size), "byte"), expected, actual));
    }
    if (sink) assembly.add(offset, bytes, *sink);
    offset += static_cast<int64_t>(size);
  }
  if (sink) assembly.finish(*sink);
}

}  // namespace axle
