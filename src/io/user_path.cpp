#include "io/user_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>

#include "base/text/utf8.h"
#include "io/file.h"
#include "io/file_kind.h"

namespace axle {
namespace fs = std::filesystem;

namespace {

// Returns "s3:// is not supported, .." for the address of another place; "" for a path.
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
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
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

}  // namespace axle
