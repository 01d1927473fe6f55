#include "data/tokenizers/sentencepiece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/text/utf8.h"
#include "io/proto_reader.h"

namespace axle {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr int kPieces = 1, kNormalizer = 3, kDenormalizer = 5;             // of ModelProto
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3, kByte = 6;  // of SentencePiece
constexpr int kCharsMap = 2;                                               // of NormalizerSpec
// Published models have tries of a quarter of a megabyte.
constexpr size_t kMaxTrieBytes = size_t{16} << 20;

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw DataError(fmt::format("{}: expected a SentencePiece model, got {}", path, what));
}

bool is_byte_name(std::string_view piece) {  // such as <0x0A>
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>') &&
         std::isxdigit(static_cast<unsigned char>(piece[3])) &&
         std::isxdigit(static_cast<unsigned char>(piece[4]));
}

void check_piece(std::string_view message, const std::string& path, int64_t id) {
  std::string_view text;
  float score = 0;
  int64_t type = 1;
  ProtoReader reader(message, path);
  while (const auto field = reader.next()) {
    if (field->number == kPieceText) text = field->bytes();
    if (field->number == kPieceScore)
      score = std::bit_cast<float>(static_cast<uint32_t>(field->bits));
    if (field->number == kPieceType) type = field->varint();
  }
  if (!std::isfinite(score)) fail(path, fmt::format("a score of {} for piece {}", score, id));
  if (type == kByte && !is_byte_name(text))
    fail(path, fmt::format("'{}' as the name of a byte, piece {}", printable(text), id));
}

// The table of normalized characters: the u32 size of a double-array trie, the units of the trie,
// then texts that end in a NUL. The values of the trie are offsets of these texts.
class CharsMap {
 public:
  CharsMap(std::string_view bytes, const std::string& path) : path_(path) {
    uint32_t trie_bytes = 0;
    if (bytes.size() < sizeof(trie_bytes)) fail_here("cut off");
    std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
    bytes.remove_prefix(sizeof(trie_bytes));
    if (trie_bytes > bytes.size() || trie_bytes % sizeof(uint32_t) != 0 ||
        trie_bytes > kMaxTrieBytes || trie_bytes == 0)
      fail_here("of an impossible size");
    units_.resize(trie_bytes / sizeof(uint32_t));
    std::memcpy(units_.data(), bytes.data(), trie_bytes);
    texts_ = bytes.substr(trie_bytes);
    if (texts_.empty() || texts_.back() != '\0') fail_here("without the end of its texts");
  }

  // Follows every path that a text can take through the trie.
  void check() {
    std::vector<size_t> open = {base_of(units_[0], 0)};
    std::vector<bool> seen(units_.size());
    seen[open[0]] = true;
    while (!open.empty()) {
      const size_t base = open.back();
      open.pop_back();
      for (size_t label = 0; label < 256; ++label) {
        const uint32_t unit = units_[base ^ label];
        if ((unit & (kIsLeaf | 0xff)) != label) continue;
        const size_t next = base_of(unit, base ^ label);
        if (unit & kHasLeaf && (units_[next] & ~kIsLeaf) >= texts_.size())
          fail_here("that points beyond its texts");
        if (!seen[next]) open.push_back(next);
        seen[next] = true;
      }
    }
  }

 private:
  static constexpr uint32_t kIsLeaf = 1u << 31, kHasLeaf = 1u << 8, kFarOffset = 1u << 9;

  // Returns the base of the children of the unit at `at`: the child for label c is at base ^ c.
  size_t base_of(uint32_t unit, size_t at) const {
    const size_t base = at ^ (size_t{unit >> 10} << ((unit & kFarOffset) ? 8 : 0));
    if ((base | 0xff) >= units_.size()) fail_here("that points beyond itself");
    return base;
  }
  [[noreturn]] void fail_here(std::string_view what) const {
    fail(path_, fmt::format("a table of normalized characters {}", what));
  }

  const std::string& path_;
  std::vector<uint32_t> units_;
  std::string_view texts_;
};

void check_normalizer(std::string_view message, const std::string& path) {
  ProtoReader reader(message, path);
  while (const auto field = reader.next()) {
    if (field->number == kCharsMap && !field->bytes().empty())
      CharsMap(field->bytes(), path).check();
  }
}

}  // namespace

void check_sentencepiece_model(std::string_view model, const std::string& path) {
  static_assert(std::endian::native == std::endian::little, "the table lies in memory as stored");
  const std::string_view head = model.substr(0, 512);
  const auto is_text = [](unsigned char c) {
    return c >= ' ' || c == '\n' || c == '\t' || c == '\r';
  };
  if (!head.empty() && std::ranges::all_of(head, is_text)) fail(path, "text");
  int64_t num_pieces = 0;
  const std::string where = path + ": expected a SentencePiece model";
  ProtoReader reader(model, where);
  while (const auto field = reader.next()) {
    if (field->number == kPieces) check_piece(field->bytes(), path, num_pieces++);
    if (field->number == kNormalizer || field->number == kDenormalizer)
      check_normalizer(field->bytes(), path);
  }
}

}  // namespace axle
