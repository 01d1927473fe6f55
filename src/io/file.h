// Files and folders: whole reads and writes, atomic replacement, durable renames.
//
// Every failure is a StorageError that names the path and the system's reason. Where a missing file
// is the user's input and not our storage, callers ask path_exists() first and throw a DataError of
// their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace axle {

class FileWriter;

/// The system refuses for now (permissions, too many open files, a server that does not answer):
/// what is stored may be whole.
struct AccessError : StorageError {
  using StorageError::StorageError;
};

/// Throws StorageError "PATH: cannot ACTION: <text of errno>", an AccessError where errno says
/// that; for the code that makes system calls itself.
[[noreturn]] void fail_storage(const std::filesystem::path& path, std::string_view action,
                               int error_number);

/// What read_file() takes where its caller says nothing else.
inline constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

/// The whole file, which must be a regular one: a folder, a FIFO or a device is refused without
/// waiting for it, and so are more than `max_bytes` and a file that was cut off meanwhile. Throws
/// Error with kDoesNotFit for more than the host has room for.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = kMaxFileBytes);
/// fn(), with a StorageError of it as an E: for files that are the user's input, not our storage.
template <class E, class Fn>
auto storage_error_as(Fn&& fn) {
  try {
    return fn();
  } catch (const StorageError& error) {
    throw E(error.what());
  }
}
/// fn(), with the file in front of a ConfigError that does not name it: what stands in a config
/// file is known by its path there.
template <class Fn>
auto config_error_in(const std::filesystem::path& file, Fn&& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    if (std::string_view(error.what()).starts_with(file.string())) throw;
    throw ConfigError(file.string() + ": " + error.what());
  }
}

/// Follows links; false also where a parent is missing or may not be searched.
bool path_exists(const std::filesystem::path& path);
bool directory_exists(const std::filesystem::path& path);
int64_t file_bytes(const std::filesystem::path& path);
/// True if `path` names what is open as `fd`: false once it was removed, renamed or replaced.
bool is_open_at(int fd, const std::filesystem::path& path);

/// Puts `bytes` into `path` so that a reader, or a restart after a crash, sees the old file or the
/// new one, never a part: written to a temporary beside it, flushed to the disk, renamed over it,
/// the folder flushed. Of a link the file that it names is replaced. What cannot be replaced, a
/// device or a FIFO, is opened and written to; a folder is refused, and so is a FIFO that nobody
/// reads, without waiting.
void replace_file(const std::filesystem::path& path, std::string_view bytes);
/// The same for content that is written piece by piece: `fill` writes all of it.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(FileWriter&)>& fill);
/// Throws StorageError where write_atomically could not write `path`: before hours of work whose
/// result it shall hold. Writes nothing.
void check_replaceable(const std::filesystem::path& path);
/// Renames a file or folder over `to` and flushes both folders: once it returns, a crash does not
/// undo it.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
/// Cuts the file to its first `size` bytes and flushes it.
void truncate_file(const std::filesystem::path& path, int64_t size);

/// Creates the folder and its parents where missing. Returns those that it created, the innermost
/// first; where it fails, none of them stays.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& path);
/// Paths of all entries of the folder, sorted by name; hidden ones too, "." and ".." not.
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& path);
/// Removes the file, or the folder with all that it holds; nothing there is no error.
void remove_tree(const std::filesystem::path& path);
/// Flushes the folder itself, so that names created or renamed in it survive a crash.
void sync_directory(const std::filesystem::path& path);

enum class WriteMode {
  kTruncate,  // from the start, created if missing; a regular file
  kAppend,    // from the end, created if missing; a regular file
  kExisting   // whatever is there already: a device, a FIFO
};

/// A file open for writing. Short writes and interrupts are dealt with; nothing is buffered in the
/// process.
class FileWriter {
 public:
  /// `shown_as` stands for the path in messages; empty: itself.
  explicit FileWriter(const std::filesystem::path& path, WriteMode mode = WriteMode::kTruncate,
                      const std::filesystem::path& shown_as = {});
  ~FileWriter();  // closes without a word: call close() to learn of a late error
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter other) noexcept;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  /// Waits until everything written is on the disk.
  void sync();
  /// Errors that the file system reports only at the end are thrown here.
  void close();
  /// Bytes in the file: those found at opening and those written since.
  int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  /// True while the path names the file that is written.
  bool is_in_place() const { return is_open_at(fd_, path_); }

 private:
  std::filesystem::path path_;  // for messages
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace axle
