#include "data/tokenizers/sentencepiece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizers/parts/chars_map.h"
#include "data/tokenizers/parts/token_model.h"
#include "io/proto_reader.h"

namespace axle {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr int kPieces = 1, kNormalizer = 3, kDenormalizer = 5;             // of ModelProto
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3, kByte = 6;  // of SentencePiece
constexpr int kCharsMap = 2;                                               // of NormalizerSpec

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
  if (text.size() > kMaxTokenBytes)
    fail(path, fmt::format("{} bytes for piece {}, more than {}", text.size(), id, kMaxTokenBytes));
  if (!std::isfinite(score)) fail(path, fmt::format("a score of {} for piece {}", score, id));
  if (type == kByte && !is_byte_name(text))
    fail(path, fmt::format("'{}' as the name of a byte, piece {}", printable(text), id));
}

std::optional<CharsMap> read_characters(std::string_view message, const std::string& path) {
  std::optional<CharsMap> out;
  ProtoReader reader(message, path);
  while (const auto field = reader.next()) {
    if (field->number == kCharsMap && !field->bytes().empty())
      out.emplace(field->bytes(), path + ": expected a SentencePiece model");
  }
  return out;
}

}  // namespace

std::optional<CharsMap> check_sentencepiece_model(std::string_view model, const std::string& path) {
  const std::string_view head = model.substr(0, 512);
  const auto is_text = [](unsigned char c) {
    return c >= ' ' || c == '\n' || c == '\t' || c == '\r';
  };
  if (!head.empty() && std::ranges::all_of(head, is_text)) fail(path, "text");
  std::optional<CharsMap> out;
  int64_t num_pieces = 0;
  const std::string where = path + ": expected a SentencePiece model";
  ProtoReader reader(model, where);
  while (const auto field = reader.next()) {
    if (field->number == kPieces) check_piece(field->bytes(), path, num_pieces++);
    if (field->number == kNormalizer) out = read_characters(field->bytes(), path);
    if (field->number == kDenormalizer) read_characters(field->bytes(), path);
  }
  return out;
}

}  // namespace axle
