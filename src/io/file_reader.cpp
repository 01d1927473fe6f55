#include "io/file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "io/file.h"
#include "io/file_kind.h"

namespace axle {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

}  // namespace

FileReader::FileReader(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO would otherwise wait for its writer.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) fail_storage(path_, "open", errno);
  struct stat info;
  const int error = ::fstat(fd_, &info) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(info.st_mode)) {
    size_ = info.st_size;
    return;
  }
  ::close(fd_);
  if (error != 0) fail_storage(path_, "inspect", error);
  throw StorageError(
      fmt::format("{}: expected a regular file, got {}", path_.string(), kind_name(info.st_mode)));
}

FileReader::~FileReader() {
  if (fd_ >= 0) ::close(fd_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

FileReader& FileReader::operator=(FileReader other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

size_t FileReader::read_some(int64_t offset, std::span<std::byte> into) const {
  size_t filled = 0;
  while (filled < into.size()) {
    const int64_t at = offset + static_cast<int64_t>(filled);
    const ssize_t n = ::pread(fd_, into.data() + filled, into.size() - filled, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_storage(path_, fmt::format("read at offset {}", at), errno);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  return filled;
}

void FileReader::read_at(int64_t offset, std::span<std::byte> into) const {
  const size_t got = read_some(offset, into);
  if (got == into.size()) return;
  throw StorageError(
      fmt::format("{}: offset {}: expected {} more bytes, got the end of the file; "
                  "it was cut off",
                  path_.string(), offset + static_cast<int64_t>(got), into.size() - got));
}

std::string head_of(const FileReader& file) {
  std::string head(kFormatHeadBytes, '\0');
  head.resize(file.read_some(0, std::as_writable_bytes(std::span(head))));
  return head;
}

void check_no_text(const FileReader& file, std::string_view expected) {
  const FileFormat* const format = recognized_format(head_of(file));
  if (file.size() == 0 || !format || !format->is_text) return;
  throw StorageError(
      fmt::format("{}: expected {}, got {}", file.path().string(), expected, to_text(*format)));
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const FileReader file(path);
  std::vector<std::byte> piece(kPieceBytes);
  Sha256 hash;
  int64_t offset = 0;
  while (const size_t got = file.read_some(offset, piece)) {
    hash.add({reinterpret_cast<const char*>(piece.data()), got});
    offset += static_cast<int64_t>(got);
  }
  return hash.hex();
}

}  // namespace axle
