#include "checkpoint/state_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/text/text_table.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
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

namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "data files are little-endian");

// A file with the checksums of its chunks.
class ChunkedFile {
 public:
  ChunkedFile(const fs::path& folder, std::string name, int64_t chunk_bytes)
      : file_(folder / name), entry_{.name = std::move(name)}, chunk_bytes_(chunk_bytes) {}

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const int64_t room = chunk_bytes_ - entry_.bytes % chunk_bytes_;
      const auto part = bytes.first(std::min(bytes.size(), static_cast<size_t>(room)));
      if (room == chunk_bytes_) entry_.crc32c.push_back(0);
      entry_.crc32c.back() = crc32c(part, entry_.crc32c.back());
      file_.write(part);
      entry_.bytes += std::ssize(part);
      bytes = bytes.subspan(part.size());
    }
  }

  void align() {
    static constexpr std::byte kZeros[kTensorAlignment] = {};
    const int64_t past = entry_.bytes % kTensorAlignment;
    if (past != 0) write(std::span(kZeros).first(kTensorAlignment - past));
  }

  int64_t size() const { return entry_.bytes; }

  DataFile finish() {
    file_.sync();
    file_.close();
    return std::move(entry_);
  }

 private:
  FileWriter file_;
  DataFile entry_;
  int64_t chunk_bytes_;
};

void write_tensors(const fs::path& folder, const ForEachTensor& tensors,
                   const WriteOptions& options, Manifest& manifest) {
  std::optional<ChunkedFile> file;
  tensors([&](const std::string& path, const HostTensor& tensor) {
    if (file && file->size() >= options.file_bytes) {
      manifest.files.push_back(file->finish());
      file.reset();
    }
    if (!file) {
      file.emplace(folder, fmt::format("data_{:05}.bin", manifest.files.size()),
                   options.chunk_bytes);
    }
    file->align();
    manifest.tensors.emplace(
        path,
        StoredTensor{.type = tensor.type(), .file = manifest.files.size(), .offset = file->size()});
    file->write(tensor.bytes());
  });
  if (file) manifest.files.push_back(file->finish());
}

// Swaps the two folders by three renames. Between the first and the second rename the step has no
// checkpoint. A reader then finds the previous checkpoint; after a crash, remove_stale_checkpoints
// moves the old one back. The old checkpoint is whole as long as it is called `aside`, since it is
// removed only under the name `temporary`. The new one is whole because it was flushed before.
void change_places_by_renaming(const fs::path& temporary, const fs::path& folder,
                               const fs::path& aside) {
  remove_tree(aside);  // left by a save that could not move the old checkpoint back
  try {
    rename_durably(folder, aside);
    rename_durably(temporary, folder);
  } catch (...) {
    std::error_code ignored;  // fails if the new checkpoint is already at its path, which is fine
    fs::rename(aside, folder, ignored);
    throw;
  }
  rename_durably(aside, temporary);
}

// Renames the temporary folder to the name of the checkpoint.
void commit(const fs::path& root, int64_t step) {
  const fs::path temporary = temporary_folder(root, step), folder = checkpoint_folder(root, step);
  if (!path_exists(folder)) return rename_durably(temporary, folder);
  // A checkpoint of the same step exists and may be damaged: swap them, then remove the old one.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    sync_directory(root);
  } else if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) {  // NFS lacks these flags
    change_places_by_renaming(temporary, folder, replaced_folder(root, step));
  } else {
    fail_storage(folder, "replace", errno);
  }
  remove_tree(temporary);
}

}  // namespace

ForEachTensor each_of(const Tree<HostTensor>& tensors) {
  return [&tensors](const TensorVisitor& visit) {
    for (const auto& [path, tensor] : tensors) visit(path, tensor);
  };
}

void write_checkpoint(const fs::path& root, int64_t step, const ForEachTensor& tensors,
                      const Tree<std::string>& metadata, const WriteOptions& options) {
  const fs::path temporary = temporary_folder(root, step);
  try {
    remove_tree(temporary);
    make_directories(temporary);
    Manifest manifest{.step = step,
                      .metadata = metadata,
                      .chunk_bytes = options.chunk_bytes,
                      .files = {},
                      .tensors = {}};
    write_tensors(temporary, tensors, options, manifest);
    FileWriter file(temporary / kManifestName);
    file.write(to_text(manifest));
    file.sync();
    file.close();
    sync_directory(temporary);
    commit(root, step);
  } catch (...) {
    std::error_code ignored;  // the caller must see the original error
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace axle
