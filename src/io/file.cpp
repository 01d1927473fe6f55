#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/host_memory_check.h"
#include "io/file_kind.h"
#include "io/file_reader.h"
#include "io/temporary_file.h"

namespace axle {
namespace fs = std::filesystem;
namespace {

// A file descriptor that is closed on every way out of a function.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, std::string_view action)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail_storage(path, action, errno);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void sync_descriptor(int fd, const fs::path& path) {
  if (::fsync(fd) != 0) fail_storage(path, "flush to the disk", errno);
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The process id keeps two processes apart. One process replaces a path from one thread at a time.
fs::path temporary_beside(const fs::path& path) {
  return fmt::format("{}.tmp-{}", path.string(), ::getpid());
}

// A link below /proc stands for an open file (/dev/stdout), whatever its text says.
bool names_open_file(const fs::path& link) {
  struct statfs info;
  return ::statfs(parent_of(link).c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// Returns the file to replace for `path`, after following links; none if it must be written to
// instead (a device, a FIFO). Throws if neither is possible.
std::optional<fs::path> replaceable_file(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // the limit of the system
  fs::path file = path;
  for (int num_links = 0; num_links <= kMaxLinks; ++num_links) {
    struct stat info;
    if (::lstat(file.c_str(), &info) != 0) {
      if (errno != ENOENT) fail_storage(path, "create", errno);
      info.st_mode = S_IFREG;
    }
    if (S_ISDIR(info.st_mode)) fail_storage(path, "write a file", EISDIR);
    if (S_ISREG(info.st_mode)) {
      if (::access(parent_of(file).c_str(), W_OK | X_OK) != 0) fail_storage(path, "create", errno);
      return file;
    }
    if (!S_ISLNK(info.st_mode) || names_open_file(file)) {
      // Nobody can open a socket for writing.
      if (S_ISSOCK(info.st_mode)) fail_storage(path, "open for writing", ENXIO);
      if (::access(file.c_str(), W_OK) != 0) fail_storage(path, "open for writing", errno);
      return std::nullopt;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(file, error);
    if (error) fail_storage(path, "create", error.value());
    file = parent_of(file) / target;  // operator/ keeps an absolute target as it is
  }
  fail_storage(path, "create", ELOOP);
}

}  // namespace

void fail_storage(const fs::path& path, std::string_view action, int error_number) {
  const std::string message = fmt::format("{}: cannot {}: {}", path.string(), action,
                                          std::generic_category().message(error_number));
  constexpr int kRefusals[] = {EACCES, EPERM,  EMFILE,    ENFILE,  ENOMEM,
                               EAGAIN, ESTALE, ETIMEDOUT, ENOTCONN};
  if (std::ranges::count(kRefusals, error_number) > 0) throw AccessError(message);
  throw StorageError(message);
}

std::string read_file(const fs::path& path, int64_t max_bytes) {
  const FileReader file(path);
  if (file.size() > max_bytes) {
    throw StorageError(fmt::format("{}: expected at most {} bytes, got {}", path.string(),
                                   max_bytes, file.size()));
  }
  check_host_allocation(path.string(), "its bytes", file.size());
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  // The size is only a hint: files in /proc report 0, and a log may grow while it is read.
  for (size_t got = 1; got > 0;) {
    char more[4096];
    got =
        file.read_some(static_cast<int64_t>(bytes.size()), std::as_writable_bytes(std::span(more)));
    bytes.append(more, got);
    if (static_cast<int64_t>(bytes.size()) > max_bytes)
      throw StorageError(
          fmt::format("{}: expected at most {} bytes, got more", path.string(), max_bytes));
  }
  return bytes;
}

bool path_exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

int64_t file_bytes(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) fail_storage(path, "inspect", error.value());
  return static_cast<int64_t>(size);
}

bool is_open_at(int fd, const fs::path& path) {
  struct stat ours, there;
  if (::stat(path.c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return ::fstat(fd, &ours) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void replace_file(const fs::path& path, std::string_view bytes) {
  write_atomically(path, [&](FileWriter& file) { file.write(bytes); });
}

void write_atomically(const fs::path& path, const std::function<void(FileWriter&)>& fill) {
  const auto file = replaceable_file(path);
  if (!file) {
    FileWriter writer(path, WriteMode::kExisting);
    fill(writer);
    writer.close();
    return;
  }
  const fs::path temporary = temporary_beside(*file);
  const TemporaryFile named(temporary);
  try {
    FileWriter writer(temporary, WriteMode::kTruncate, path);
    fill(writer);
    writer.sync();
    writer.close();
    if (::rename(temporary.c_str(), file->c_str()) != 0) fail_storage(path, "replace", errno);
    sync_directory(parent_of(*file));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void check_replaceable(const fs::path& path) { replaceable_file(path); }

void rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    fail_storage(from, fmt::format("rename to {}", to.string()), errno);
  sync_directory(parent_of(to));
  if (parent_of(from) != parent_of(to)) sync_directory(parent_of(from));
}

std::vector<fs::path> make_directories(const fs::path& path) {
  std::vector<fs::path> missing;
  for (auto at = path; !at.empty() && !path_exists(at); at = at.parent_path())
    missing.push_back(at);
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return missing;
  for (const auto& folder : missing) ::rmdir(folder.c_str());
  fail_storage(path, "create the folder", error.value());
}

std::vector<fs::path> list_directory(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    entries.push_back(at->path());
  }
  if (error) fail_storage(path, "list", error.value());
  std::ranges::sort(entries);
  return entries;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_storage(path, "remove", error.value());
}

void sync_directory(const fs::path& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY, "open");
  sync_descriptor(folder.get(), path);
}

FileWriter::FileWriter(const fs::path& path, WriteMode mode, const fs::path& shown_as)
    : path_(shown_as.empty() ? path : shown_as) {
  constexpr int kFlags[] = {O_CREAT | O_TRUNC, O_CREAT | O_APPEND, 0};  // by mode
  // O_NONBLOCK: opening a FIFO would otherwise wait for its reader.
  constexpr int kAlways = O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (mode != WriteMode::kExisting) check_regular(path);
  fd_ = ::open(path.c_str(), kAlways | kFlags[static_cast<int>(mode)], 0666);
  if (fd_ < 0 && errno == ENXIO) {
    throw StorageError(
        fmt::format("{}: expected a FIFO or device with a reader, got none; start the reader first",
                    path_.string()));
  }
  if (fd_ < 0) fail_storage(path_, "open for writing", errno);
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);  // writes may wait
  if (mode == WriteMode::kAppend) size_ = file_bytes(path);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

FileWriter& FileWriter::operator=(FileWriter other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

void FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_storage(path_, fmt::format("write at offset {}", size_), errno);
    size_ += n;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void FileWriter::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void FileWriter::sync() { sync_descriptor(fd_, path_); }

void FileWriter::check_in_place(std::string_view advice) const {
  if (is_in_place()) return;
  throw StorageError(fmt::format(
      "{}: expected the file to stay in place during the run, found it removed or replaced{}",
      path_.string(), advice));
}

void FileWriter::close() {
  // The descriptor is gone whatever close() returns, so never close it twice.
  if (fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 && errno != EINTR)
    fail_storage(path_, "close", errno);
}

}  // namespace axle
