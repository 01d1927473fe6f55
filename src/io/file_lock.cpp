#include "io/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/file.h"

namespace axle {
namespace {

std::string holder_text(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof(text) - 1, 0);
  std::string pid(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  // Empty in the instant between another process's lock and its note.
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

FileLock::FileLock(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_storage(path_, "open the lock file", errno);
  int error = ::flock(fd_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error == EWOULDBLOCK) {
    const std::string holder = holder_text(fd_);
    ::close(fd_);
    throw StorageError(
        fmt::format("{}: expected a folder that no other run uses, got one held by {}; "
                    "stop that run or choose another folder",
                    path_.string(), holder));
  }
  const std::string note = fmt::format("{}\n", ::getpid());
  if (error == 0 && ::ftruncate(fd_, 0) != 0) error = errno;
  if (error == 0 &&
      ::pwrite(fd_, note.data(), note.size(), 0) != static_cast<ssize_t>(note.size())) {
    error = errno != 0 ? errno : ENOSPC;
  }
  if (error != 0) {
    ::close(fd_);
    fail_storage(path_, "lock", error);
  }
}

// The file stays: removing it could take it from under a process that has just opened it.
FileLock::~FileLock() { ::close(fd_); }

}  // namespace axle
