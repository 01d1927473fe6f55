#include "data/tokenizers/sentencepiece_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_pair_model.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/parts/unigram_model.h"
#include "io/proto.h"

namespace axle {

SentencePieceNormalizer::SentencePieceNormalizer(std::optional<CharsMap> characters, ByteTrie users,
                                                 Spaces spaces)
    : characters_(std::move(characters)), users_(std::move(users)), spaces_(spaces) {
  for (uint8_t c = 0; c < 128; ++c)
    is_plain_[c] = !users_.begins_with(c) && (!characters_ || characters_->keeps_in_ascii(c));
  space_is_plain_ = std::exchange(is_plain_[' '], false);
  std::string text;
  for (char32_t c = 0x80; c < is_kept_.size(); ++c) {
    text.clear();
    append_utf8(text, c);
    is_kept_[c] = !users_.begins_with(static_cast<uint8_t>(text[0])) &&
                  (!characters_ || !characters_->may_begin_with(text));
  }
}

// The bytes at the beginning that stay as they are, without spaces.
size_t SentencePieceNormalizer::plain_size(std::string_view text) const {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t at = 0; at < text.size();) {
    const uint8_t first = byte(at);
    if (first < 128) {
      if (!is_plain_[first]) return at;
      do {
        ++at;
      } while (at < text.size() && is_plain_[byte(at)]);
      if (at < text.size() && byte(at) >= 128) return at - 1;
    } else if ((first & 0xf0) == 0xe0 && at + 3 <= text.size()) {
      if (!is_kept_[(first & 0xfu) << 12 | (byte(at + 1) & 0x3fu) << 6 | (byte(at + 2) & 0x3fu)])
        return at;
      at += 3;
    } else if ((first & 0xe0) == 0xc0 && at + 2 <= text.size()) {
      if (!is_kept_[(first & 0x1fu) << 6 | (byte(at + 1) & 0x3fu)]) return at;
      at += 2;
    } else {
      return at;
    }
  }
  return text.size();
}

// What the beginning of a text becomes, and its bytes: at least a character.
CharsMap::Found SentencePieceNormalizer::first_of(std::string_view text) const {
  size_t user_size = 0;
  users_.prefixes(text, [&](size_t size, int32_t) { user_size = size; });
  if (user_size > 0) return {text.substr(0, user_size), user_size};
  if (characters_) {
    if (const auto found = characters_->find_longest(text)) return *found;
  }
  const size_t size = first_code_point(text).size;
  return {text.substr(0, size), size};
}

std::string SentencePieceNormalizer::operator()(std::string_view text, bool adds_space) const {
  adds_space &= spaces_.add;
  while (spaces_.join && !text.empty()) {
    const auto [first, size] = first_of(text);
    if (first != " ") break;
    text.remove_prefix(size);
  }
  std::string out;
  if (text.empty()) return out;
  out.reserve(text.size() + text.size() / 2);
  if (adds_space && !spaces_.are_behind) out += kMetaSpace;
  bool was_space = spaces_.join;
  while (!text.empty()) {
    if (text[0] == ' ' && space_is_plain_ &&
        (text.size() == 1 || static_cast<uint8_t>(text[1]) < 128)) {
      if (!was_space) out += kMetaSpace;
      was_space = spaces_.join;
      text.remove_prefix(1);
      continue;
    }
    const size_t run = plain_size(text);
    if (run > 0) {
      out += text.substr(0, run);
      text.remove_prefix(run);
      was_space = false;
      continue;
    }
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
  if (adds_space && spaces_.are_behind) out += kMetaSpace;
  return out;
}

namespace {

// Kinds of pieces and of models in sentencepiece_model.proto. The numbers below are of its
// fields.
enum class PieceType : int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
enum class ModelType : int64_t { kUnigram = 1, kMerges };

class Model {
 public:
  // Views of `bytes` and `path` are kept.
  Model(std::string_view bytes, std::string_view path) : path_(path) {
    ProtoReader reader(bytes, path_);
    while (const auto field = reader.next()) {
      if (field->number == 1) read_piece(field->bytes());
      if (field->number == 2) read_trainer(field->bytes());
      if (field->number == 3) read_normalizer(field->bytes());
    }
  }

  // True if the parts of this program encode as the library does.
  bool is_plain() const {
    const bool is_known = type_ == ModelType::kUnigram || type_ == ModelType::kMerges;
    return is_known && unknown_ && writes_spaces_ && pieces_are_plain() && names_are_apart() &&
           merges_reach_all();
  }
  bool is_unigram() const { return type_ == ModelType::kUnigram; }

  std::unique_ptr<TokenModel> make_token_model(const std::string& path) const {
    return is_unigram() ? make_unigram() : make_merges(path);
  }

  // The pieces that users defined.
  ByteTrie users() const {
    std::vector<ByteTrie::Entry> out;
    for (const int32_t id : ids_of({PieceType::kUserDefined})) out.push_back({at(id).text, id});
    return ByteTrie(std::move(out));
  }

  SentencePieceNormalizer::Spaces spaces() const { return spaces_; }

 private:
  struct Piece {
    std::string_view text = {};
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  void read_piece(std::string_view message) {
    Piece piece;
    ProtoReader reader(message, path_);
    while (const auto field = reader.next()) {
      if (field->number == 1) piece.text = field->bytes();
      if (field->number == 2)
        piece.score = std::bit_cast<float>(static_cast<uint32_t>(field->bits));
      if (field->number == 3) piece.type = static_cast<PieceType>(field->varint());
    }
    if (piece.type == PieceType::kUnknown) unknown_ = static_cast<int32_t>(pieces_.size());
    pieces_.push_back(piece);
  }
  void read_trainer(std::string_view message) {
    ProtoReader reader(message, path_);
    while (const auto field = reader.next()) {
      if (field->number == 3) type_ = static_cast<ModelType>(field->varint());
      if (field->number == 24) spaces_.are_behind = field->varint() != 0;
      if (field->number == 35) has_bytes_ = field->varint() != 0;
    }
  }
  void read_normalizer(std::string_view message) {
    ProtoReader reader(message, path_);
    while (const auto field = reader.next()) {
      if (field->number == 3) spaces_.add = field->varint() != 0;
      if (field->number == 4) spaces_.join = field->varint() != 0;
      if (field->number == 5) writes_spaces_ = field->varint() != 0;
    }
  }

  using Types = std::initializer_list<PieceType>;
  static bool is_of(PieceType type, Types types) {
    return std::ranges::find(types, type) != types.end();
  }
  const Piece& at(int32_t id) const { return pieces_[id]; }
  std::vector<int32_t> ids_of(Types types) const {
    std::vector<int32_t> out;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      if (is_of(pieces_[id].type, types)) out.push_back(static_cast<int32_t>(id));
    }
    return out;
  }
  Vocabulary vocabulary_of(Types types) const {
    Vocabulary out;
    for (const int32_t id : ids_of(types)) out.add(std::string(at(id).text), id);
    return out;
  }

  // The library keeps pieces as C strings, and ignores types that it does not know.
  bool pieces_are_plain() const {
    return std::ranges::all_of(pieces_, [](const Piece& piece) {
      const bool is_cut = piece.type == PieceType::kUserDefined && find_invalid_utf8(piece.text);
      return piece.type >= PieceType::kNormal && piece.type <= PieceType::kByte && !is_cut &&
             piece.text.find('\0') == piece.text.npos;
    });
  }
  // The library looks pieces up by their text, and finds names of special pieces before others: a
  // control piece, too, if it is a character. Then it fails.
  bool names_are_apart() const {
    std::unordered_set<std::string_view> texts;
    for (const int32_t id : ids_of(kInText)) texts.insert(at(id).text);
    return std::ranges::none_of(ids_of(kSpecial), [&](int32_t id) {
      const auto& [name, score, type] = at(id);
      const bool is_character = utf8_step(name).size == name.size();
      return texts.contains(name) || (type == PieceType::kControl && is_character);
    });
  }
  // The library merges characters that are no pieces, too.
  bool merges_reach_all() const {
    if (is_unigram()) return true;
    const Vocabulary all = vocabulary_of(kInText);
    return std::ranges::all_of(ids_of({PieceType::kNormal, PieceType::kUnused}), [&](int32_t id) {
      std::string_view rest = at(id).text;
      if (find_invalid_utf8(rest)) return false;
      while (!rest.empty()) {
        const size_t size = first_code_point(rest).size;
        if (!all.find(rest.substr(0, size))) return false;
        rest.remove_prefix(size);
      }
      return true;
    });
  }

  std::unique_ptr<TokenModel> make_merges(const std::string& path) const {
    std::vector<float> scores;
    for (const Piece& piece : pieces_) scores.push_back(piece.score);
    const auto is_merged = [&](size_t id) {
      return is_of(pieces_[id].type, {PieceType::kNormal, PieceType::kUnused});
    };
    Vocabulary vocabulary =
        vocabulary_of({PieceType::kNormal, PieceType::kUnused, PieceType::kByte});
    MergeTable merges = merges_of_unions(vocabulary, ranks_of_scores(scores, is_merged), path);
    return std::make_unique<BytePairModel>(
        std::move(vocabulary), std::move(merges),
        BytePairModel::Options{.byte_fallback = has_bytes_,
                               .unknown = unknown_,
                               .fuse_unknown = true,
                               .unused = ids_of({PieceType::kUnused})});
  }

  // Pieces that users defined have a score that is nearly always the best. The library computes all
  // of this in f32 but for the 0.1.
  std::unique_ptr<TokenModel> make_unigram() const {
    constexpr float kUnknownPenalty = 10;
    float least = std::numeric_limits<float>::max(), most = std::numeric_limits<float>::min();
    for (const int32_t id : ids_of({PieceType::kNormal})) {
      least = std::min(least, at(id).score);
      most = std::max(most, at(id).score);
    }
    std::vector<double> scores;
    for (const Piece& piece : pieces_) {
      const double of_user =
          static_cast<double>(static_cast<float>(piece.text.size()) * most) - 0.1;
      scores.push_back(piece.type == PieceType::kNormal        ? piece.score
                       : piece.type == PieceType::kUserDefined ? of_user
                                                               : std::nan(""));
    }
    return std::make_unique<UnigramModel>(
        vocabulary_of({PieceType::kNormal, PieceType::kUserDefined, PieceType::kByte}),
        std::move(scores),
        UnigramModel::Options{.unknown = unknown_,
                              .byte_fallback = has_bytes_,
                              .unknown_score = least - kUnknownPenalty,
                              .sums = ScoreSums::kF32,
                              .uncovered = UncoveredText::kIsUnknown});
  }

  static constexpr Types kInText = {PieceType::kNormal, PieceType::kUserDefined,
                                    PieceType::kUnused};
  static constexpr Types kSpecial = {PieceType::kUnknown, PieceType::kControl, PieceType::kByte};

  std::string_view path_;
  std::vector<Piece> pieces_;  // by id
  std::optional<int32_t> unknown_;
  ModelType type_ = ModelType::kUnigram;
  bool has_bytes_ = false, writes_spaces_ = true;
  SentencePieceNormalizer::Spaces spaces_;
};

}  // namespace

std::unique_ptr<SentencePieceParts> SentencePieceParts::of_model(std::string_view bytes,
                                                                 std::optional<CharsMap> characters,
                                                                 const std::string& path) {
  const Model model(bytes, path);
  if (!model.is_plain()) return nullptr;
  std::unique_ptr<SentencePieceParts> out(new SentencePieceParts);
  out->model_ = model.make_token_model(path);
  out->normalizer_.emplace(std::move(characters), model.users(), model.spaces());
  out->cuts_at_users_ = !model.is_unigram();
  return out;
}

std::vector<int32_t> SentencePieceParts::encode(std::string_view text, bool adds_space) const {
  std::vector<int32_t> ids;
  const std::string pieces = (*normalizer_)(text, adds_space);
  const auto scratch = model_->make_scratch(pieces.size());
  std::string_view rest = pieces;
  while (const auto user = cuts_at_users_ ? normalizer_->users().find(rest, 0) : std::nullopt) {
    if (user->begin > 0) model_->encode(rest.substr(0, user->begin), scratch.get(), ids);
    ids.push_back(user->value);
    rest.remove_prefix(user->begin + user->size);
  }
  if (!rest.empty()) model_->encode(rest, scratch.get(), ids);
  return ids;
}

EncodeBytes SentencePieceParts::encode_bytes() const {
  constexpr int64_t kOfText = 12;
  const int64_t of_piece = model_->piece_bytes();
  if (model_->cuts_words()) return {.of_text = kOfText, .of_stretch = of_piece};
  return {.of_text = kOfText + of_piece * 4 / 3};  // a space becomes three bytes
}

}  // namespace axle
