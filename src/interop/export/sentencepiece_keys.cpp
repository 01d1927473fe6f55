#include "interop/export/sentencepiece_keys.h"

#include <bit>
#include <vector>

#include "base/error.h"
#include "data/tokenizers/sentencepiece_model.h"
#include "io/file.h"
#include "io/proto_reader.h"
#include "io/user_path.h"

namespace axle {
namespace {

// Field numbers of sentencepiece_model.proto. The types of pieces have the numbers of GGUF's.
constexpr int kPieces = 1, kTrainer = 2, kNormalizer = 3;         // of ModelProto
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3;    // of SentencePiece
constexpr int kModelType = 3, kUnknownId = 40, kDummyPrefix = 3;  // of TrainerSpec, NormalizerSpec
constexpr int64_t kMerges = 2;                                    // of TrainerSpec::ModelType

struct PieceTable {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
};

void add_piece(std::string_view message, std::string_view path, PieceTable& out) {
  out.tokens.emplace_back();
  out.scores.push_back(0);
  out.types.push_back(1);
  ProtoReader piece(message, path);
  while (const auto field = piece.next()) {
    if (field->number == kPieceText) out.tokens.back() = std::string(field->bytes());
    if (field->number == kPieceScore)
      out.scores.back() = std::bit_cast<float>(static_cast<uint32_t>(field->bits));
    if (field->number == kPieceType) out.types.back() = static_cast<int32_t>(field->varint());
  }
}

// Returns a number of a message, or what it has as its default.
int64_t number_in(std::string_view message, std::string_view path, int number, int64_t otherwise) {
  ProtoReader reader(message, path);
  while (const auto field = reader.next())
    if (field->number == number) otherwise = static_cast<int64_t>(field->varint());
  return otherwise;
}

}  // namespace

GgufMetadata gguf_keys_of_sentencepiece(const std::string& path) {
  const std::string model =
      storage_error_as<DataError>([&] { return read_file(path_of_text(path)); });
  check_sentencepiece_model(model, path);
  PieceTable pieces;
  int64_t type = 1, unknown = 0, has_prefix = 1;
  ProtoReader reader(model, path);
  while (const auto field = reader.next()) {
    if (field->number == kPieces) add_piece(field->bytes(), path, pieces);
    if (field->number == kTrainer) {
      type = number_in(field->bytes(), path, kModelType, type);
      unknown = number_in(field->bytes(), path, kUnknownId, unknown);
    }
    if (field->number == kNormalizer)
      has_prefix = number_in(field->bytes(), path, kDummyPrefix, has_prefix);
  }
  if (type != kMerges) return {};
  GgufMetadata out(path);
  out.set("tokenizer.ggml.model", "llama");
  out.set("tokenizer.ggml.pre", "default");
  out.set("tokenizer.ggml.tokens", pieces.tokens);
  out.set("tokenizer.ggml.scores", pieces.scores);
  out.set("tokenizer.ggml.token_type", pieces.types);
  out.set("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(unknown));
  out.set("tokenizer.ggml.add_space_prefix", has_prefix != 0);
  return out;
}

}  // namespace axle
