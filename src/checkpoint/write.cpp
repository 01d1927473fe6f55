#include "checkpoint/write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>

#include "base/hash.h"
#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "io/file.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "data files are little-endian");

// A file and the checksums of its chunks.
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
      entry_.bytes += static_cast<int64_t>(part.size());
      bytes = bytes.subspan(part.size());
    }
  }

  void align() {
    static constexpr std::byte kZeros[kTensorAlignment] = {};
    const int64_t past = entry_.bytes % kTensorAlignment;
    if (past != 0) write(std::span(kZeros).first(static_cast<size_t>(kTensorAlignment - past)));
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

void write_tensors(const fs::path& folder, const Tree<HostTensor>& tensors,
                   const WriteOptions& options, Manifest& manifest) {
  std::optional<ChunkedFile> file;
  for (const auto& [path, tensor] : tensors) {
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
  }
  if (file) manifest.files.push_back(file->finish());
}

// The two folders change places by three renames. Between the first and the second there is no
// checkpoint of the step: a reader then finds the one before it, and after a crash there
// remove_stale_checkpoints puts the old one back. As `aside` the old one is whole at any time,
// since it is removed as `temporary`; so is the new one, which was flushed before.
void change_places_by_renaming(const fs::path& temporary, const fs::path& folder,
                               const fs::path& aside) {
  remove_tree(aside);  // of a save whose old one could not be put back
  try {
    rename_durably(folder, aside);
    rename_durably(temporary, folder);
  } catch (...) {
    std::error_code ignored;  // where the new one is in its place that stays
    fs::rename(aside, folder, ignored);
    throw;
  }
  rename_durably(aside, temporary);
}

// The temporary folder takes the name of the checkpoint.
void commit(const fs::path& root, int64_t step) {
  const fs::path temporary = temporary_folder(root, step), folder = checkpoint_folder(root, step);
  if (!path_exists(folder)) return rename_durably(temporary, folder);
  // One of the same step, perhaps damaged: they change places, and the old one goes.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    sync_directory(root);
  } else if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) {  // NFS knows no such flags
    change_places_by_renaming(temporary, folder, replaced_folder(root, step));
  } else {
    fail_storage(folder, "replace", errno);
  }
  remove_tree(temporary);
}

}  // namespace

void write_checkpoint(const fs::path& root, int64_t step, const Tree<HostTensor>& tensors,
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
    std::error_code ignored;  // what made the save fail is the news, not this
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace axle
