// A lock file: keeps two processes from writing into one folder.
#pragma once

#include <filesystem>

namespace axle {

/// Held until destroyed, or until the process ends in whatever way: a crash leaves no stale lock.
class FileLock {
 public:
  /// Creates the file if missing and writes the process id into it. Throws StorageError naming the
  /// process that holds it; one process can't lock a file twice either.
  explicit FileLock(std::filesystem::path path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace axle
