// A lock file: keeps two processes from writing into one folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace axle {

/// Held until destroyed, or until the process ends in whatever way: a crash leaves no stale lock.
/// The folder that holds the file is locked with it, where its file system can: whoever removes the
/// file lets no second process in.
class FileLock {
 public:
  /// Creates the file if missing and writes the process id into it. Throws StorageError naming the
  /// process that holds it; one process can't lock a file twice either.
  explicit FileLock(std::filesystem::path path);
  /// The same, but waits while another one holds it: asks `keep_waiting` several times a second,
  /// with the holder ("process 123"), and throws once it says no.
  FileLock(std::filesystem::path path,
           const std::function<bool(const std::string& holder)>& keep_waiting);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// True while the folder that was locked is where it was: neither removed nor renamed, and no
  /// other in its place.
  bool folder_is_in_place() const;

 private:
  struct Open {};
  FileLock(std::filesystem::path path, Open);
  void open_file();
  void open_folder();
  bool lock_folder();
  std::filesystem::path path_;
  int fd_ = -1, folder_fd_ = -1;
};

}  // namespace axle
