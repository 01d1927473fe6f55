#include "data/tokenizers/stream_decoder.h"

#include <string_view>
#include <utility>

#include "base/text/utf8.h"

namespace axle {
namespace {
constexpr std::string_view kReplacement = "\xef\xbf\xbd";
}

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
    const size_t size = step.kind == Utf8Kind::kComplete ? step.size : 1;
    out += step.kind == Utf8Kind::kComplete ? rest.substr(0, size) : kReplacement;
    rest.remove_prefix(size);
  }
  pending_ = std::string(rest);
  return out;
}

}  // namespace axle
