#include "data/tokenizers/llama2c_tokenizer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <queue>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/data_file.h"

namespace axle {
namespace {

constexpr int32_t kBos = 1, kEos = 2, kFirstByte = 3, kFirstText = 259;

// Reads the file from front to back.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}
  bool at_end() const { return offset_ == bytes_.size(); }
  std::string_view take(size_t size) {
    if (size > bytes_.size() - offset_) {
      throw DataError(
          fmt::format("{}: offset {}: expected {} more bytes of a llama2.c vocabulary, got {}",
                      path_, offset_, size, bytes_.size() - offset_));
    }
    offset_ += size;
    return bytes_.substr(offset_ - size, size);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::string_view bytes_;
  const std::string& path_;
  size_t offset_ = 0;
};

// A part of the text that is one piece so far. Symbols that were merged into others are unlinked
// from the list.
struct Symbol {
  size_t begin, size;
  int32_t id;
  int32_t previous, next;  // -1 at the ends
};

// Two neighbours whose union is a piece. Stale once either of them has changed, which their sizes
// reveal.
struct Merge {
  float score;
  int32_t left, right;
  size_t size;
  int32_t id;
  bool operator<(const Merge& other) const {
    return score < other.score || (score == other.score && left > other.left);
  }
};

}  // namespace

Llama2cTokenizer::Llama2cTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : path_(cfg.path.get()) {
  const std::string bytes =
      read_data_file(path_, fmt::format("{}.path", scope.path), "a llama2.c vocabulary");
  constexpr int64_t kMemoryPerByte = 16;  // for pieces of one byte, which take nine bytes of file
  check_host_allocation(path_, "its pieces", kMemoryPerByte * std::ssize(bytes));
  Cursor cursor(bytes, path_);
  cursor.number<int32_t>();  // length of the longest piece, which only C needs
  while (!cursor.at_end()) {
    const auto score = cursor.number<float>();
    if (!std::isfinite(score)) {
      throw DataError(fmt::format("{}: expected finite scores, got {} for piece {}", path_, score,
                                  scores_.size()));
    }
    scores_.push_back(score);
    // A negative length becomes a huge one, which no file has.
    pieces_.emplace_back(cursor.take(static_cast<uint32_t>(cursor.number<int32_t>())));
  }
  if (vocab_size() < kFirstText) {
    throw DataError(fmt::format("{}: expected a llama2.c vocabulary of at least {} pieces, got {}",
                                path_, kFirstText, vocab_size()));
  }
  for (int32_t b = 0; b < 256; ++b) pieces_[kFirstByte + b] = std::string(1, static_cast<char>(b));
  pieces_[0] = " \xe2\x81\x87 ";  // how SentencePiece shows the unknown token
  pieces_[kBos].clear();
  pieces_[kEos].clear();
  for (int32_t id = kFirstText; id < vocab_size(); ++id) ids_.try_emplace(pieces_[id], id);
  fingerprint_ = xxh3_64(bytes);
}

SpecialIds Llama2cTokenizer::special_ids() const { return {.bos = kBos, .eos = kEos}; }

std::vector<int32_t> Llama2cTokenizer::encode(std::string_view text) const {
  if (text.empty()) return {};
  check_text_size(path_, text);
  const std::string spaced = " " + std::string(text);
  const std::string_view all = spaced;
  const auto id_of = [&](size_t begin, size_t size) {
    const auto found = ids_.find(all.substr(begin, size));
    return found == ids_.end() ? -1 : found->second;
  };

  std::vector<Symbol> symbols;
  for (size_t at = 0; at < all.size();) {
    const Utf8Step step = utf8_step(all.substr(at));
    const size_t size = step.kind == Utf8Kind::kComplete ? step.size : 1;
    const auto index = static_cast<int32_t>(symbols.size());
    symbols.push_back({at, size, id_of(at, size), index - 1, index + 1});
    at += size;
  }
  symbols.back().next = -1;

  std::priority_queue<Merge> merges;
  const auto propose = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const Symbol &a = symbols[left], &b = symbols[right];
    const int32_t id = id_of(a.begin, a.size + b.size);
    if (id >= 0) merges.push({scores_[id], left, right, a.size + b.size, id});
  };
  for (size_t i = 1; i < symbols.size(); ++i)
    propose(static_cast<int32_t>(i) - 1, static_cast<int32_t>(i));
  while (!merges.empty()) {
    const Merge merge = merges.top();
    merges.pop();
    Symbol &left = symbols[merge.left], &right = symbols[merge.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != merge.size) continue;
    left.size = merge.size;
    left.id = merge.id;
    left.next = right.next;
    right.size = 0;
    if (right.next >= 0) symbols[right.next].previous = merge.left;
    propose(left.previous, merge.left);
    propose(merge.left, left.next);
  }

  std::vector<int32_t> ids;
  for (int32_t at = 0; at >= 0; at = symbols[at].next) {
    const Symbol& symbol = symbols[at];
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
      continue;
    }
    for (const char c : all.substr(symbol.begin, symbol.size))
      ids.push_back(kFirstByte + static_cast<uint8_t>(c));
  }
  return ids;
}

std::string_view Llama2cTokenizer::piece(int32_t id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(pieces_[id]) : std::string_view();
}

LeadingSpace Llama2cTokenizer::leading_space(int32_t id) const {
  // A space that was encoded as a byte is meant literally.
  return id >= kFirstText ? LeadingSpace::kDropOne : LeadingSpace::kKeep;
}

AXLE_REGISTER(Llama2cTokenizer)

}  // namespace axle
