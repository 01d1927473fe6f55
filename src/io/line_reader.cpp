#include "io/line_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/text/units.h"

namespace axle {

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

}  // namespace axle
