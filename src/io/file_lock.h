// A lock file: keeps two processes from writing to one folder.
#pragma once

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "base/process_start.h"

namespace axle {

/// Holds a lock until destroyed or until the process ends in any way: a crash leaves no stale lock.
/// Also locks the folder that holds the file, if its file system supports that, so that removing
/// the file lets no second process in.
class FileLock {
 public:
  /// Creates the file if missing and writes the process id into it. Throws StorageError naming the
  /// process that holds the lock. One process cannot lock a file twice either.
  explicit FileLock(std::filesystem::path path);
  /// Like the constructor above, but waits while another holder has the lock. Calls
  /// `keep_waiting` several times a second with the holder ("process 123"), and throws once it
  /// returns false.
  FileLock(std::filesystem::path path,
           const std::function<bool(const std::string& holder)>& keep_waiting);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// True while the locked folder is still at its path: neither removed, renamed nor replaced by
  /// another.
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

/// While alive, registers the path of a file being written, so that TemporaryFileCleanup can remove
/// it. Does not touch the file itself.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

 private:
  int slot_;
};

/// Signals that end a process and that a terminal, a shell or a job scheduler sends on purpose.
inline constexpr std::array kTerminationSignals = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                                   SIGUSR1, SIGUSR2, SIGXCPU};

/// While alive, these signals first remove all registered temporary files, then end the process as
/// usual. Ignored signals (nohup) stay ignored.
class TemporaryFileCleanup {
 public:
  TemporaryFileCleanup();

 private:
  SignalHandlers handlers_;
};

}  // namespace axle
