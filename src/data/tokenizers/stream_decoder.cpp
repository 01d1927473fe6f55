#include "data/tokenizers/stream_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text/utf8.h"

namespace axle {
namespace {
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the bytes that one U+FFFD stands for.
size_t invalid_size(std::string_view text, InvalidBytes shown) {
  constexpr size_t kMostBytes = 3;  // of a character that lacks bytes
  if (shown == InvalidBytes::kEach) return 1;
  for (size_t size = std::min(text.size(), kMostBytes); size > 1; --size) {
    if (utf8_step(text.substr(0, size)).kind == Utf8Kind::kTruncated) return size;
  }
  return 1;
}

}  // namespace

std::string StreamDecoder::push(int32_t id) {
  std::string_view piece = tokenizer_->piece(id);
  if (at_start_ && !piece.empty()) {
    const LeadingSpace policy = tokenizer_->leading_space(id);
    if (policy != LeadingSpace::kKeep && piece.front() == ' ') piece.remove_prefix(1);
    at_start_ = policy == LeadingSpace::kDropAll && piece.empty();
  }
  pending_ += piece;
  // No character spans a special id, so it also ends a character that is incomplete.
  return take(piece.empty());
}

std::string StreamDecoder::finish() { return take(true); }

std::string StreamDecoder::take(bool at_end) {
  std::string out;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Kind::kTruncated && !at_end) break;
    const size_t size = step.kind == Utf8Kind::kComplete
                            ? step.size
                            : invalid_size(rest, tokenizer_->invalid_bytes());
    out += step.kind == Utf8Kind::kComplete ? rest.substr(0, size) : kReplacement;
    rest.remove_prefix(size);
  }
  pending_ = std::string(rest);
  return out;
}

}  // namespace axle
