#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/host_memory.h"
#include "base/text/unicode.h"
#include "io/file_lock.h"
#include "io/file_reader.h"

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

// A link below /proc stands for an open file (/dev/stdout), regardless of its text.
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
    got = file.read_some(std::ssize(bytes), std::as_writable_bytes(std::span(more)));
    bytes.append(more, got);
    if (std::ssize(bytes) > max_bytes)
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
  // The descriptor is gone regardless of what close() returns, so never close it twice.
  if (fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 && errno != EINTR)
    fail_storage(path_, "close", errno);
}

namespace fs = std::filesystem;

namespace {

// Returns "s3:// is not supported, .." for the address of another system; "" for a path.
std::string address_problem(std::string_view path) {
  const size_t end = path.find(":/");  // of some libraries "s3://bucket" comes as "s3:/bucket"
  const auto is_of_scheme = [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  };
  if (end == path.npos || end < 2 || !std::isalpha(static_cast<unsigned char>(path[0])) ||
      !std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), is_of_scheme))
    return {};
  return fmt::format("{}:// is not supported, mount it or copy it here", path.substr(0, end));
}

}  // namespace

std::string path_problem(const std::string& path) {
  if (path.empty()) return "expected a path, got an empty text";
  const std::string problem = address_problem(path);
  if (problem.empty()) return {};
  return fmt::format("expected a path of this machine, got '{}'; {}", path, problem);
}

std::string read_stream(const fs::path& path, int64_t max_bytes) {
  struct stat info;
  const bool is_stream =
      ::stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
  if (!is_stream) return read_file(path, max_bytes);
  // O_NONBLOCK: opening a FIFO would otherwise wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) fail_storage(path, "open", errno);
  const std::unique_ptr<const int, void (*)(const int*)> closing(
      &fd, [](const int* open) { ::close(*open); });
  std::string bytes;
  for (;;) {
    char piece[1 << 16];
    const ssize_t got = ::read(fd, piece, sizeof(piece));
    if (got == 0) break;
    if (got > 0) bytes.append(piece, static_cast<size_t>(got));
    if (std::ssize(bytes) > max_bytes) {
      throw StorageError(
          fmt::format("{}: expected at most {} bytes, got more", path.string(), max_bytes));
    }
    if (got > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) fail_storage(path, "read", errno);
    pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, -1);
  }
  if (bytes.empty()) {
    throw StorageError(fmt::format("{}: expected something to read, got {} that holds nothing",
                                   path.string(), kind_name(info.st_mode)));
  }
  return bytes;
}

std::string nothing_at(const fs::path& path) {
  struct stat info;
  const int error = ::stat(path.c_str(), &info) == 0 ? 0 : errno;
  if (const std::string problem = address_problem(path.native()); !problem.empty() && error != 0)
    return "a place of another machine; " + problem;
  if (error == 0 || error == ENOENT || error == ENOTDIR) return std::string(kNothingThere);
  return fmt::format("a path that the system does not let us look at ({})",
                     std::generic_category().message(error));
}

namespace {

// Returns the text with the bytes that its escapes stand for.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 2;
    const bool is_escape = text.substr(i, 2) == "\\x" && i + 3 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2 &&
                           (byte >= 0x80 || byte == '\\');
    out += is_escape ? static_cast<char>(byte) : text[i];
    if (is_escape) i += 3;
  }
  return out;
}

}  // namespace

std::string text_of_path(std::string_view path) {
  if (!find_invalid_utf8(path) && unescaped(path) == path) return std::string(path);
  std::string out;
  while (!path.empty()) {
    const size_t bad = std::min(find_invalid_utf8(path).value_or(path.size()), path.size());
    for (const char c : path.substr(0, bad))
      out += c == '\\' ? std::string("\\x5c") : std::string(1, c);
    if (bad < path.size()) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(path[bad]));
    path.remove_prefix(std::min(bad + 1, path.size()));
  }
  return out;
}

fs::path path_of_text(const std::string& text) {
  const std::string meant = unescaped(text);
  return meant != text && !path_exists(meant) && path_exists(text) ? text : meant;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeep = "**";

std::vector<std::string> shell_matches(const std::string& pattern) {
  struct Failure {
    std::string folder;
    int error = 0;
  };
  static thread_local Failure failure;  // glob() hands nothing to the function that it calls
  failure = {};
  glob_t found = {};
  const auto note = [](const char* folder, int error) {
    failure = {folder, error};
    return error == ENOENT || error == ENOTDIR ? 0 : 1;
  };
  const int code = ::glob(pattern.c_str(), 0, note, &found);
  const std::vector<std::string> out(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (code == GLOB_ABORTED) fail_storage(failure.folder, "list", failure.error);
  return out;
}

// Returns where a part of the pattern is "**"; npos if none is.
size_t deep_part(std::string_view pattern) {
  for (size_t at = 0; (at = pattern.find(kDeep, at)) != pattern.npos; ++at) {
    const size_t end = at + kDeep.size();
    if ((at == 0 || pattern[at - 1] == '/') && (end == pattern.size() || pattern[end] == '/'))
      return at;
  }
  return pattern.npos;
}

// Returns a pattern that matches this path alone.
std::string as_pattern(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '\\' || is_path_pattern({c})) out += '\\';
    out += c;
  }
  return out;
}

std::vector<fs::path> with_folders_below(const fs::path& folder) {
  std::vector<fs::path> out = {folder};
  for (size_t i = 0; i < out.size(); ++i) {
    for (const fs::path& path : list_directory(fs::path(out[i]))) {
      // As in a shell, a pattern finds what is hidden only if it says so.
      if (path.filename().string().starts_with('.')) continue;
      if (fs::is_directory(fs::symlink_status(path))) out.push_back(path);
    }
  }
  return out;
}

}  // namespace

bool is_path_pattern(const std::string& text) { return text.find_first_of("*?[") != text.npos; }

std::vector<std::string> matching_paths(const std::string& pattern) {
  const size_t at = deep_part(pattern);
  if (at == pattern.npos) return shell_matches(pattern);
  const std::string above = pattern.substr(0, at);
  const std::string below =
      at + kDeep.size() < pattern.size() ? pattern.substr(at + kDeep.size() + 1) : "*";
  std::vector<std::string> out;
  for (const fs::path top : above.empty() ? std::vector<std::string>{"."} : shell_matches(above)) {
    for (const fs::path& folder : with_folders_below(top)) {
      for (const fs::path found : matching_paths(as_pattern(folder) + "/" + below))
        out.push_back(found.lexically_normal());
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace axle
