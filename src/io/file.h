// Files and folders: whole reads and writes, atomic replacement, durable renames.
//
// Every failure is a StorageError that names the path and the system's reason. A missing file that
// is the user's input is not a storage failure: callers check path_exists() first and throw a
// DataError.
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

/// The system refuses access (permissions, too many open files, a server that does not answer),
/// perhaps only for now. The stored data may be intact.
struct AccessError : StorageError {
  using StorageError::StorageError;
};

/// Throws StorageError "PATH: cannot ACTION: <text of errno>", or AccessError if errno stands for a
/// refusal. For code that makes system calls itself.
[[noreturn]] void fail_storage(const std::filesystem::path& path, std::string_view action,
                               int error_number);

/// The default limit of read_file().
inline constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

/// Returns the bytes of a regular file. Throws StorageError for a folder, a FIFO or a device
/// (without blocking on it), for more than `max_bytes`, and for a file that is cut off during the
/// read. Throws Error with kDoesNotFit if the host lacks the memory.
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = kMaxFileBytes);
/// Calls fn() and rethrows a StorageError as an E: for files that are the user's input, not our
/// storage.
template <class E, class Fn>
auto storage_error_as(Fn&& fn) {
  try {
    return fn();
  } catch (const StorageError& error) {
    throw E(error.what());
  }
}
/// Calls fn() and puts the file's path in front of a ConfigError that does not begin with it: for
/// the contents of config files.
template <class Fn>
auto config_error_in(const std::filesystem::path& file, Fn&& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    if (std::string_view(error.what()).starts_with(file.string())) throw;
    throw ConfigError(file.string() + ": " + error.what());
  }
}

/// Follows links. Returns false also if a parent is missing or may not be searched.
bool path_exists(const std::filesystem::path& path);
bool directory_exists(const std::filesystem::path& path);
int64_t file_bytes(const std::filesystem::path& path);
/// True if `path` still names the file open as `fd`: false once the file was removed, renamed or
/// replaced.
bool is_open_at(int fd, const std::filesystem::path& path);

/// Writes `bytes` to `path` atomically: a reader, or a restart after a crash, sees the old file or
/// the new one, never a part. Writes to a temporary file beside it, flushes that to the disk,
/// renames it over `path` and flushes the folder. Follows links and replaces the file at their end.
/// Opens a device or a FIFO and writes to it, since it cannot be replaced. Throws StorageError for
/// a folder, and, without waiting, for a FIFO without a reader.
void replace_file(const std::filesystem::path& path, std::string_view bytes);
/// Like replace_file, for content that `fill` writes piece by piece.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(FileWriter&)>& fill);
/// Throws StorageError if write_atomically could not write `path`. Call it before hours of work
/// whose result goes there. Writes nothing.
void check_replaceable(const std::filesystem::path& path);
/// Renames a file or folder over `to` and flushes both parent folders. A crash after the return
/// does not undo it.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Creates the folder and its parents if missing. Returns the folders that it created, the
/// innermost first. If it fails, it removes them again.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& path);
/// Returns the paths of all entries of the folder, sorted by name; includes hidden entries, but not
/// "." and "..".
std::vector<std::filesystem::path> list_directory(const std::filesystem::path& path);
/// Removes the file, or the folder with everything in it. Nothing at `path` is no error.
void remove_tree(const std::filesystem::path& path);
/// Flushes the folder itself, so that names created or renamed in it survive a crash.
void sync_directory(const std::filesystem::path& path);

enum class WriteMode {
  kTruncate,  // from the start; creates the file; regular files only
  kAppend,    // at the end; creates the file; regular files only
  kExisting   // opens what already exists: a device, a FIFO
};

/// A file open for writing. Handles short writes and interrupts. Buffers nothing in the process.
class FileWriter {
 public:
  /// `shown_as` replaces the path in messages; empty: the path itself is shown.
  explicit FileWriter(const std::filesystem::path& path, WriteMode mode = WriteMode::kTruncate,
                      const std::filesystem::path& shown_as = {});
  ~FileWriter();  // ignores errors of close(); call close() to see them
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter other) noexcept;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  /// Waits until everything written is on the disk.
  void sync();
  /// Closes the file. Throws errors that the file system reports only at the end.
  void close();
  /// Returns the bytes in the file: those present when it was opened and those written since.
  int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  /// True while the path still names the file being written.
  bool is_in_place() const { return is_open_at(fd_, path_); }
  /// Throws StorageError, ended by `advice`, if the file was removed or replaced.
  void check_in_place(std::string_view advice = {}) const;

 private:
  std::filesystem::path path_;  // for messages
  int fd_ = -1;
  int64_t size_ = 0;
};

/// Returns what is wrong with a path; else "". An empty text is what a shell makes of an unset
/// variable; "s3://bucket/run" would name a folder called "s3:".
std::string path_problem(const std::string& path);

/// Returns the bytes of a file that may also be a pipe, a terminal or another device, read to its
/// end: what a shell calls /dev/stdin and <(command). Throws as read_file() does; also for a pipe
/// or a device that holds nothing.
std::string read_stream(const std::filesystem::path& path, int64_t max_bytes);

inline constexpr std::string_view kNothingThere = "nothing there";
/// Returns what is at a path that path_exists() denies: kNothingThere, the system's reason not to
/// let this user look, or what is wrong with an address ("s3://bucket/run").
std::string nothing_at(const std::filesystem::path& path);

/// The text of a path in configs and reports, which are UTF-8. In a path that is not, or that looks
/// like such a text itself, the other bytes are written as \xff, and a backslash as \x5c.
std::string text_of_path(std::string_view path);
/// Returns the path that a text stands for. Where only the text itself is the path of a file, it
/// stays so.
std::filesystem::path path_of_text(const std::string& text);

/// True if the text has characters that are special in a pattern.
bool is_path_pattern(const std::string& text);

/// Returns the paths that match, in order: `*`, `?` and `[..]` as in a shell, and `**`, which is
/// any number of folders, none too, but follows no links. Throws StorageError for a folder that
/// cannot be listed, since it may hold some of them.
std::vector<std::string> matching_paths(const std::string& pattern);

}  // namespace axle
