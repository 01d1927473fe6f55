#include "io/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

// Polls, because a signal does not end a blocking flock() if its handler restarts system calls.
constexpr std::chrono::milliseconds kPause(100);

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

std::string holder_text(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof(text) - 1, 0);
  std::string pid(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  // Empty between another process's lock and the moment when it writes its id.
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

// A separate constructor: if the others throw after it, the destructor still closes the files.
FileLock::FileLock(std::filesystem::path path, Open) : path_(std::move(path)) {}

FileLock::~FileLock() {
  // The lock file is not removed: a new file would be a second lock on the same folder.
  for (const int fd : {fd_, folder_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

void FileLock::open_folder() {
  const auto folder = folder_of(path_);
  folder_fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ < 0) fail_storage(folder, "open", errno);
}

void FileLock::open_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (fd_ < 0) fail_storage(path_, "open the lock file", errno);
  check_regular(fd_, path_);
}

// Returns false if another process holds the folder because the lock file was removed.
bool FileLock::lock_folder() {
  if (::flock(folder_fd_, LOCK_EX | LOCK_NB) == 0) return true;
  return errno != EWOULDBLOCK;  // some file systems cannot lock folders
}

bool FileLock::folder_is_in_place() const { return is_open_at(folder_fd_, folder_of(path_)); }

FileLock::FileLock(std::filesystem::path path)
    : FileLock(std::move(path), [](const std::string&) { return false; }) {}

FileLock::FileLock(std::filesystem::path path,
                   const std::function<bool(const std::string& holder)>& keep_waiting)
    : FileLock(std::move(path), Open()) {
  open_folder();
  open_file();
  while (true) {
    std::string holder = "another process";  // unknown if the lock file was removed
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
      // The previous holder may have removed the file after we opened it: other processes would
      // then lock a new file.
      if (!is_open_at(fd_, path_)) {
        open_file();
        continue;
      }
      if (lock_folder()) break;
    } else if (errno == EWOULDBLOCK) {
      holder = holder_text(fd_);
    } else {
      fail_storage(path_, "lock", errno);
    }
    if (!keep_waiting(holder)) {
      throw StorageError(
          fmt::format("{}: expected a folder that no other run uses, got one in use by {}; stop "
                      "that run or choose another folder",
                      path_.string(), holder));
    }
    std::this_thread::sleep_for(kPause);
  }
  const std::string note = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd_, 0) != 0) fail_storage(path_, "lock", errno);
  errno = ENOSPC;  // the error of a short write
  if (::pwrite(fd_, note.data(), note.size(), 0) != static_cast<ssize_t>(note.size()))
    fail_storage(path_, "lock", errno);
}

namespace {

enum State { kFree, kFilling, kNamed };

// Of fixed size, since a signal handler may neither allocate nor wait.
struct Slot {
  std::atomic<int> state = kFree;
  char path[PATH_MAX] = {};
};
std::array<Slot, 16> g_slots;
constexpr int kNoSlot = -1;

extern "C" void remove_temporaries(int signal) {
  const int error = errno;
  for (const Slot& slot : g_slots) {
    if (slot.state.load() == kNamed) ::unlink(slot.path);
  }
  errno = error;
  ::raise(signal);  // delivered after we return, with the default action
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& path) : slot_(kNoSlot) {
  const std::string& name = path.native();
  if (name.size() >= PATH_MAX) return;  // such a file cannot be created either
  for (size_t i = 0; i < g_slots.size(); ++i) {
    int free = kFree;
    if (!g_slots[i].state.compare_exchange_strong(free, kFilling)) continue;
    std::memcpy(g_slots[i].path, name.c_str(), name.size() + 1);
    g_slots[i].state = kNamed;
    slot_ = static_cast<int>(i);
    return;
  }
}

TemporaryFile::~TemporaryFile() {
  if (slot_ != kNoSlot) g_slots[slot_].state = kFree;
}

namespace {

auto ending_handlers() {
  std::array<SignalHandler, kTerminationSignals.size()> out;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = {kTerminationSignals[i], remove_temporaries, static_cast<int>(SA_RESETHAND)};
  return out;
}

}  // namespace

TemporaryFileCleanup::TemporaryFileCleanup() : handlers_(ending_handlers()) {}

}  // namespace axle
