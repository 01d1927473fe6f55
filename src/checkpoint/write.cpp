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
