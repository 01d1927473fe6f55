#include "io/file_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "io/file.h"

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

namespace {

constexpr size_t kStreamPieceBytes = size_t{256} << 10;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(FileReader file) : file_(std::move(file)) {}
  size_t read(std::span<char> into) override {
    const size_t count = file_.read_some(offset_, std::as_writable_bytes(into));
    offset_ += static_cast<int64_t>(count);
    return count;
  }

 private:
  FileReader file_;
  int64_t offset_ = 0;
};

class OpenFileStream final : public ByteStream {
 public:
  OpenFileStream(int file, std::string name) : file_(file), name_(std::move(name)) {}
  size_t read(std::span<char> into) override {
    size_t filled = 0;
    while (filled < into.size()) {
      const ssize_t count = ::read(file_, into.data() + filled, into.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_storage(name_, "read", errno);
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

 private:
  int file_;
  std::string name_;
};

// The compressed bytes of a file, piece by piece.
class Compressed {
 public:
  explicit Compressed(FileReader file) : file_(std::move(file)), piece_(kStreamPieceBytes, '\0') {}
  // The bytes that were not taken yet; empty at the end of the file.
  std::string_view rest() {
    if (begin_ == end_) {
      offset_ += static_cast<int64_t>(end_);
      begin_ = 0;
      end_ = file_.read_some(offset_, std::as_writable_bytes(std::span(piece_)));
    }
    return std::string_view(piece_).substr(begin_, end_ - begin_);
  }
  void take(size_t count) { begin_ += count; }
  [[noreturn]] void fail(std::string_view expected, std::string_view got) const {
    throw StorageError(fmt::format("{}: offset {}: expected {}, got {}", file_.path().string(),
                                   offset_ + static_cast<int64_t>(begin_), expected, got));
  }

 private:
  FileReader file_;
  std::string piece_;
  int64_t offset_ = 0;  // of piece_ in the file
  size_t begin_ = 0, end_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(FileReader file) : file_(std::move(file)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipStream() override { inflateEnd(&stream_); }

  size_t read(std::span<char> into) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min(into.size(), kStreamPieceBytes));
    const uInt size = stream_.avail_out;
    while (stream_.avail_out == size && !is_at_end_) step();
    return size - stream_.avail_out;
  }

 private:
  void step() {
    const std::string_view input = file_.rest();
    if (input.empty()) {
      if (!is_between_) file_.fail("more gzip data", "the end of the file");
      is_at_end_ = true;
      return;
    }
    if (is_between_ && has_ended_once_) {
      if (skip_padding(input)) return;
      inflateReset(&stream_);
    }
    is_between_ = false;
    // zlib only reads it. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    file_.take(input.size() - stream_.avail_in);
    if (result == Z_STREAM_END)
      is_between_ = has_ended_once_ = true;
    else if (result != Z_OK && result != Z_BUF_ERROR)
      file_.fail("gzip data", stream_.msg ? stream_.msg : "other bytes");
  }
  // Some programs fill the last block of a file with zeros.
  bool skip_padding(std::string_view input) {
    const size_t zeros = std::min(input.find_first_not_of('\0'), input.size());
    file_.take(zeros);
    return zeros > 0;
  }

  Compressed file_;
  z_stream stream_ = {};
  bool is_between_ = false;  // between two members
  bool has_ended_once_ = false;
  bool is_at_end_ = false;
};

class ZstdStream final : public ByteStream {
 public:
  explicit ZstdStream(FileReader file) : file_(std::move(file)), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
  }
  ~ZstdStream() override { ZSTD_freeDStream(stream_); }

  size_t read(std::span<char> into) override {
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos == 0 && !into.empty()) {
      const std::string_view rest = file_.rest();
      if (rest.empty() && !has_more_output_) {
        if (wanted_ != 0) file_.fail("more zstd data", "the end of the file");
        return 0;
      }
      ZSTD_inBuffer in{rest.data(), rest.size(), 0};
      wanted_ = ZSTD_decompressStream(stream_, &out, &in);
      file_.take(in.pos);
      if (ZSTD_isError(wanted_)) file_.fail("zstd data", ZSTD_getErrorName(wanted_));
      has_more_output_ = out.pos == out.size && wanted_ != 0;
    }
    return out.pos;
  }

 private:
  Compressed file_;
  ZSTD_DStream* stream_;
  size_t wanted_ = 0;             // 0: between two frames
  bool has_more_output_ = false;  // that did not fit
};

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::filesystem::path& path) {
  FileReader file(path);
  const std::string head = head_of(file);
  if (const std::string problem = compression_problem(path, head); !problem.empty())
    throw StorageError(fmt::format("{}: {}", path.string(), problem));
  if (head.starts_with(kGzip)) return std::make_unique<GzipStream>(std::move(file));
  if (head.starts_with(kZstd)) return std::make_unique<ZstdStream>(std::move(file));
  return std::make_unique<PlainStream>(std::move(file));
}

std::unique_ptr<ByteStream> stream_of(int file, std::string name) {
  return std::make_unique<OpenFileStream>(file, std::move(name));
}

std::string compression_problem(const std::filesystem::path& path, std::string_view head) {
  const std::string ending = lower_case(path.extension().string());
  const bool is_gzip = ending == ".gz";
  if ((!is_gzip && ending != ".zst") || head.starts_with(is_gzip ? kGzip : kZstd)) return {};
  return fmt::format("expected {}, got {}", is_gzip ? "gzip" : "zstd",
                     format_text(head, "a file without compression; rename it or compress it"));
}

LineReader::LineReader(const std::filesystem::path& path, size_t max_line_bytes)
    : LineReader(path, open_stream(path), max_line_bytes) {}

LineReader::LineReader(std::filesystem::path path, std::unique_ptr<ByteStream> stream,
                       size_t max_line_bytes)
    : path_(std::move(path)), max_line_bytes_(max_line_bytes), stream_(std::move(stream)) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  while (buffer_.size() < kByteOrderMark.size() && fill()) {
  }
  if (buffer_.starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
}

// Reads a piece behind the buffer, whose lines that were taken make room.
bool LineReader::fill() {
  constexpr size_t kPieceBytes = size_t{256} << 10;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kPieceBytes);
  const size_t count = stream_->read(std::span(buffer_).subspan(before));
  buffer_.resize(before + count);
  return count > 0;
}

std::optional<std::string_view> LineReader::next_with_end() {
  size_t end, searched = begin_;
  while ((end = buffer_.find('\n', searched)) == buffer_.npos) {
    searched = buffer_.size() - begin_;
    if (searched > max_line_bytes_) {
      throw StorageError(fmt::format("{}:{}: expected a line of at most {}, got a longer one",
                                     path_.string(), number_ + 1, bytes_text(max_line_bytes_)));
    }
    if (fill()) continue;
    if (buffer_.empty()) return std::nullopt;
    end = buffer_.size();
    break;
  }
  ++number_;
  end = std::min(end + 1, buffer_.size());
  const size_t begin = std::exchange(begin_, end);
  return std::string_view(buffer_).substr(begin, end - begin);
}

std::optional<std::string_view> LineReader::next() {
  std::optional<std::string_view> line = next_with_end();
  if (!line) return line;
  if (line->ends_with('\n')) line->remove_suffix(1);
  if (line->ends_with('\r')) line->remove_suffix(1);
  return line;
}

namespace {

void check_regular(mode_t mode, const std::filesystem::path& path) {
  if (S_ISREG(mode)) return;
  throw StorageError(
      fmt::format("{}: expected a regular file, got {}", path.string(), kind_name(mode)));
}

}  // namespace

const char* kind_name(mode_t mode) {
  return S_ISREG(mode)    ? "a regular file"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

void check_regular(const std::filesystem::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) check_regular(info.st_mode, path);
}

void check_regular(int fd, const std::filesystem::path& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) fail_storage(path, "inspect", errno);
  check_regular(info.st_mode, path);
}

}  // namespace axle
