#include "io/byte_stream.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/text.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
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
  explicit Compressed(FileReader file) : file_(std::move(file)), piece_(kPieceBytes, '\0') {}
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
    stream_.avail_out = static_cast<uInt>(std::min(into.size(), kPieceBytes));
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

}  // namespace axle
