#include "data/tokenizers/sentencepiece_parts.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "base/text/unicode.h"
#include "base/text/utf8.h"
#include "data/tokenizers/parts/byte_pair_model.h"
#include "data/tokenizers/parts/unigram_model.h"
#include "io/proto_reader.h"

namespace axle {
namespace {

constexpr std::string_view kMetaSpace = "\xe2\x96\x81";  // U+2581 stands for a space in pieces

// Kinds of pieces and of models in sentencepiece_model.proto. The numbers below are those of its
// fields.
enum class PieceType : int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
enum class ModelType : int64_t { kUnigram = 1, kMerges };

class Model {
 public:
  explicit Model(std::string_view bytes) {
    ProtoReader reader(bytes);
    while (const auto field = reader.next()) {
      if (field->number == 1) read_piece(field->bytes());
      if (field->number == 2) read_trainer(field->bytes());
      if (field->number == 3) read_normalizer(field->bytes());
    }
  }

  // True if the parts of this program encode as the library does.
  bool is_plain() const {
    const bool has_others = std::ranges::any_of(types_, [](PieceType type) {
      return type == PieceType::kUserDefined || type == PieceType::kUnused;
    });
    const bool is_known = type_ == ModelType::kUnigram || type_ == ModelType::kMerges;
    return is_known && unknown_ && writes_spaces_ && !space_is_behind_ && !has_others &&
           merges_reach_all();
  }

  std::unique_ptr<TokenModel> take_token_model(const std::string& path) {
    const auto is_normal = [&](size_t id) { return types_[id] == PieceType::kNormal; };
    if (type_ == ModelType::kMerges) {
      MergeTable merges = merges_of_unions(vocabulary_, ranks_of_scores(scores_, is_normal), path);
      return std::make_unique<BytePairModel>(
          std::move(vocabulary_), std::move(merges),
          BytePairModel::Options{
              .byte_fallback = has_bytes_, .unknown = unknown_, .fuse_unknown = true});
    }
    std::vector<double> scores;
    for (size_t id = 0; id < scores_.size(); ++id)
      scores.push_back(is_normal(id) ? scores_[id] : std::numeric_limits<double>::quiet_NaN());
    return std::make_unique<UnigramModel>(
        std::move(vocabulary_), std::move(scores),
        UnigramModel::Options{
            .unknown = unknown_, .byte_fallback = has_bytes_, .rounds_sums = true});
  }

  SentencePieceParts::Spaces spaces() const { return spaces_; }

 private:
  void read_piece(std::string_view message) {
    std::string text;
    float score = 0;
    auto type = PieceType::kNormal;
    ProtoReader reader(message);
    while (const auto field = reader.next()) {
      if (field->number == 1) text = field->bytes();
      if (field->number == 2) score = std::bit_cast<float>(static_cast<uint32_t>(field->bits));
      if (field->number == 3) type = static_cast<PieceType>(field->varint());
    }
    const auto id = static_cast<int32_t>(types_.size());
    if (type == PieceType::kUnknown) unknown_ = id;
    if (type == PieceType::kNormal || type == PieceType::kByte)
      vocabulary_.add(std::move(text), id);
    scores_.push_back(score);
    types_.push_back(type);
  }
  void read_trainer(std::string_view message) {
    ProtoReader reader(message);
    while (const auto field = reader.next()) {
      if (field->number == 3) type_ = static_cast<ModelType>(field->varint());
      if (field->number == 24) space_is_behind_ = field->varint() != 0;
      if (field->number == 35) has_bytes_ = field->varint() != 0;
    }
  }
  void read_normalizer(std::string_view message) {
    ProtoReader reader(message);
    while (const auto field = reader.next()) {
      if (field->number == 3) spaces_.put_before = field->varint() != 0;
      if (field->number == 4) spaces_.join = field->varint() != 0;
      if (field->number == 5) writes_spaces_ = field->varint() != 0;
    }
  }
  // The library merges characters that are no pieces, too.
  bool merges_reach_all() const {
    for (int64_t id = 0; type_ == ModelType::kMerges && id < vocabulary_.end_id(); ++id) {
      const std::string* const token = vocabulary_.token(id);
      if (!token || types_[static_cast<size_t>(id)] != PieceType::kNormal) continue;
      if (token->size() > kMaxTokenBytes || find_invalid_utf8(*token)) return false;
      for (std::string_view rest = *token; !rest.empty();) {
        const size_t size = first_code_point(rest).size;
        if (!vocabulary_.find(rest.substr(0, size))) return false;
        rest.remove_prefix(size);
      }
    }
    return true;
  }

  Vocabulary vocabulary_;  // of normal pieces and bytes
  std::vector<float> scores_;
  std::vector<PieceType> types_;
  std::optional<int32_t> unknown_;
  ModelType type_ = ModelType::kUnigram;
  bool has_bytes_ = false, space_is_behind_ = false, writes_spaces_ = true;
  SentencePieceParts::Spaces spaces_;
};

}  // namespace

std::unique_ptr<SentencePieceParts> SentencePieceParts::of_model(std::string_view bytes,
                                                                 std::optional<CharsMap> characters,
                                                                 const std::string& path) {
  Model model(bytes);
  if (!model.is_plain()) return nullptr;
  return std::unique_ptr<SentencePieceParts>(
      new SentencePieceParts(model.take_token_model(path), std::move(characters), model.spaces()));
}

std::vector<int32_t> SentencePieceParts::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  const std::string pieces = normal(text);
  if (!pieces.empty()) model_->encode(pieces, model_->make_scratch(pieces.size()).get(), ids);
  return ids;
}

// What the beginning of a text becomes, and its bytes: at least a character.
CharsMap::Found SentencePieceParts::first_of(std::string_view text) const {
  if (characters_) {
    if (const auto found = characters_->find_longest(text)) return *found;
  }
  const size_t size = first_code_point(text).size;
  return {text.substr(0, size), size};
}

std::string SentencePieceParts::normal(std::string_view text) const {
  while (spaces_.join && !text.empty()) {
    const auto [first, size] = first_of(text);
    if (first != " ") break;
    text.remove_prefix(size);
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 2);
  if (spaces_.put_before) out += kMetaSpace;
  bool was_space = spaces_.join;
  while (!text.empty()) {
    auto [first, size] = first_of(text);
    text.remove_prefix(size);
    while (was_space && first.starts_with(' ')) first.remove_prefix(1);
    if (first.empty()) continue;
    for (const char c : first) {
      if (c == ' ')
        out += kMetaSpace;
      else
        out += c;
    }
    was_space = spaces_.join && first.back() == ' ';
  }
  while (spaces_.join && out.ends_with(kMetaSpace)) out.resize(out.size() - kMetaSpace.size());
  return out;
}

}  // namespace axle
