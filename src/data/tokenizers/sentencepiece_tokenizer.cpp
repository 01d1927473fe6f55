#include "data/tokenizers/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/host_memory.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/sentencepiece_parts.h"
#include "io/file.h"
#include "io/proto.h"

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

namespace {

using hugging_face::FilesBeside;

// Returns the tokens of the files with the special ones that they name and the model may lack.
std::vector<AddedToken> all_tokens(const FilesBeside& files, const BarePieces& bare) {
  std::vector<AddedToken> out = files.distinct_added_tokens();
  const auto is_new = [&](const AddedToken& token) { return !bare.find(token.text); };
  int64_t next_id = bare.num_pieces + std::ranges::count_if(out, is_new);
  std::unordered_set<std::string> texts;
  for (const AddedToken& token : out) texts.insert(token.text);
  for (AddedToken& token : files.special_tokens()) {
    if (!texts.insert(token.text).second) continue;
    const auto known = bare.find(token.text);
    token.id = static_cast<int32_t>(known ? *known : next_id++);
    out.push_back(std::move(token));
  }
  for (AddedToken& token : out) token.normalized = false;  // the model normalizes by itself
  return out;
}

// Ids may have gaps, but each takes memory.
void check_ids(const AddedTokens& tokens, const std::string& model, int64_t num_pieces) {
  constexpr int64_t kMostAdded = 1 << 16;
  for (const AddedToken& token : tokens.tokens()) {
    if (token.id < num_pieces + kMostAdded) continue;
    throw DataError(fmt::format("{}: expected ids below {} in the files beside it, got {} for '{}'",
                                model, num_pieces + kMostAdded, token.id, printable(token.text)));
  }
}

std::string to_hash(const AddedPieces& pieces, const BarePieces& bare) {
  std::string out;
  for (const AddedToken& token : pieces.tokens.tokens()) {
    if (token.special && token.id < bare.num_pieces && bare.is_control(token.id)) continue;
    out += fmt::format("{} {} {}{}{}{}\n", token.id, token.text, token.special, token.single_word,
                       token.strip_left, token.strip_right);
  }
  if (!out.empty() && pieces.has_one_space) out += "one space";
  return out;
}

}  // namespace

bool BarePieces::is_control(int32_t id) const {
  return std::ranges::binary_search(controls, id, {}, &AddedToken::id);
}

AddedPieces added_pieces_beside(const std::string& model, const BarePieces& bare) {
  AddedPieces out{.special_ids = bare.special_ids, .num_ids = bare.num_pieces};
  const FilesBeside files(path_of_text(model));
  if (files.name_tokens()) {
    out.tokens = AddedTokens(all_tokens(files, bare), {}, model);
    check_ids(out.tokens, model, bare.num_pieces);
    for (const AddedToken& token : out.tokens.tokens())
      out.num_ids = std::max(out.num_ids, token.id + int64_t{1});
    for (const AddedToken& token : files.special_tokens())
      out.named.insert(out.tokens.find(token.text)->id);
    const auto set = [&](std::optional<int32_t>& id, const char* name) {
      const std::string text = files.special_token(name).value_or("");
      if (!text.empty()) id = out.tokens.find(text)->id;
    };
    set(out.special_ids.bos, "bos_token");
    set(out.special_ids.eos, "eos_token");
    set(out.special_ids.pad, "pad_token");
    if (!files.flag("add_bos_token", true)) out.special_ids.bos.reset();
    if (out.special_ids.bos) out.before = {*out.special_ids.bos};
    if (out.special_ids.eos && files.flag("add_eos_token", false))
      out.behind = {*out.special_ids.eos};
    out.has_one_space = !files.flag("legacy", true);
  } else {
    out.tokens = AddedTokens(bare.controls, {}, model);
  }
  out.chat = files.chat_settings(out.num_ids);
  out.hashed = to_hash(out, bare);
  return out;
}

namespace {

using sentencepiece::SentencePieceProcessor;

std::string with_spaces(std::string text) {
  for (size_t at = text.find(kMetaSpace); at != text.npos; at = text.find(kMetaSpace, at + 1))
    text.replace(at, kMetaSpace.size(), " ");
  return text;
}

std::string piece_text(const SentencePieceProcessor& processor, int id) {
  const std::string& piece = processor.IdToPiece(id);
  if (processor.IsControl(id)) return {};
  if (processor.IsUnknown(id)) return processor.DecodeIds({id});  // the model defines its text
  if (processor.IsByte(id))
    return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));  // <0xHH>
  return with_spaces(piece);
}

// The library does not expose the model's whitespace policy, so it is found by decoding two pieces
// that begin with a space.
LeadingSpace find_leading_space(const SentencePieceProcessor& processor) {
  int shortest = -1;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& piece = processor.IdToPiece(id);
    if (!piece.starts_with(kMetaSpace) || processor.IsUnused(id)) continue;
    if (shortest < 0 || piece.size() < processor.IdToPiece(shortest).size()) shortest = id;
  }
  if (shortest < 0) return LeadingSpace::kKeep;
  const size_t full = 2 * piece_text(processor, shortest).size();
  const size_t decoded = processor.DecodeIds({shortest, shortest}).size();
  return decoded == full       ? LeadingSpace::kKeep
         : decoded == full - 1 ? LeadingSpace::kDropOne
                               : LeadingSpace::kDropAll;
}

// The library refuses a model in two ways: with a status or with an exception.
bool loads(SentencePieceProcessor& processor, const std::string& model) {
  try {
    return processor.LoadFromSerializedProto(model).ok() && processor.GetPieceSize() > 0;
  } catch (const std::exception&) {  // thrown for a bad trie
    return false;
  }
}

std::optional<int32_t> optional_id(int id) {
  return id >= 0 ? std::optional<int32_t>(id) : std::nullopt;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : path_(cfg.path.get()), processor_(std::make_unique<SentencePieceProcessor>()) {
  const std::string model =
      read_data_file(path_, fmt::format("{}.path", scope.path), "a SentencePiece model");
  constexpr int64_t kMemoryPerByte = 48;  // for pieces of one byte, in the library and here
  check_host_allocation(path_, "its pieces", kMemoryPerByte * std::ssize(model));
  std::optional<CharsMap> characters = check_sentencepiece_model(model, path_);
  if (!loads(*processor_, model)) {
    throw DataError(fmt::format("{}: expected a SentencePiece model, got another file", path_));
  }
  for (int id = 0; id < processor_->GetPieceSize(); ++id)
    pieces_.push_back(piece_text(*processor_, id));
  leading_space_ = find_leading_space(*processor_);
  fingerprint_ = xxh3_64(model);
  parts_ = SentencePieceParts::of_model(model, std::move(characters), path_);
  add_files_beside();
  if (!parts_ && added_.has_one_space) {
    constexpr std::string_view kWithoutSpace("\x1a\x02\x18\x00",
                                             4);  // normalizer_spec.add_dummy_prefix
    without_space_ = std::make_unique<Library>();
    loads(*without_space_, model + std::string(kWithoutSpace));
  }
}

void SentencePieceTokenizer::add_files_beside() {
  std::vector<AddedToken> controls;
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    if (!processor_->IsControl(id)) continue;
    controls.push_back({.text = processor_->IdToPiece(id), .id = id, .special = true});
  }
  const BarePieces bare{.num_pieces = std::ssize(pieces_),
                        .special_ids = {.bos = optional_id(processor_->bos_id()),
                                        .eos = optional_id(processor_->eos_id()),
                                        .pad = optional_id(processor_->pad_id())},
                        .find = [&](const std::string& text) -> std::optional<int32_t> {
                          const int id = processor_->PieceToId(text);
                          if (id < 0 || processor_->IdToPiece(id) != text) return std::nullopt;
                          return id;
                        },
                        .controls = controls};
  added_ = added_pieces_beside(path_, bare);
  pieces_.resize(added_.num_ids);
  for (const AddedToken& token : added_.tokens.tokens())
    pieces_[token.id] = token.special ? std::string() : token.text;
  finds_in_any_text_ =
      added_.has_one_space || !std::ranges::all_of(added_.tokens.tokens(), &AddedToken::special);
  if (!added_.hashed.empty())
    fingerprint_ = xxh3_64(fmt::format("{:016x}{}", fingerprint_, added_.hashed));
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

EncodeBytes SentencePieceTokenizer::encode_bytes() const {
  if (parts_) return parts_->encode_bytes();
  return {.of_text = 285};  // of the library
}

std::vector<int32_t> SentencePieceTokenizer::encode_as(std::string_view text,
                                                       bool with_special) const {
  check_text_size(path_, text);
  const bool finds_any = with_special ? !added_.tokens.tokens().empty() : finds_in_any_text_;
  if (!finds_any) return encode_part(text, true);
  std::string spaced;  // so that tokens that take white space with them take it
  if (added_.has_one_space) text = spaced = with_spaces(std::string(text));
  std::vector<int32_t> ids;
  bool is_first = true;
  const auto add_part = [&](std::string_view part) {
    const std::vector<int32_t> more = encode_part(part, is_first || !added_.has_one_space);
    ids.insert(ids.end(), more.begin(), more.end());
    is_first = false;
  };
  const auto add_token = [&](int32_t id) {
    // The space that the text begins with stays, but before a special token that has a name.
    if (is_first && added_.has_one_space && !added_.named.contains(id))
      ids = encode_part(" ", false);
    ids.push_back(id);
    is_first = false;
  };
  added_.tokens.cut(text, false, with_special, add_token, add_part);
  return ids;
}

std::vector<int32_t> SentencePieceTokenizer::encode_part(std::string_view text,
                                                         bool adds_space) const {
  if (parts_ && !find_invalid_utf8(text)) return parts_->encode(text, adds_space);
  if (parts_ && !adds_space) return parts_->encode(to_valid_utf8(text), false);
  const Library& library = adds_space || !without_space_ ? *processor_ : *without_space_;
  std::vector<int> ids;
  const auto status = library.Encode({text.data(), text.size()}, &ids);
  if (!status.ok())
    throw DataError(fmt::format("{}: cannot encode the text: {}", path_, status.error_message()));
  return ids;
}

std::vector<int32_t> SentencePieceTokenizer::framed(std::vector<int32_t> ids) const {
  ids.insert(ids.begin(), added_.before.begin(), added_.before.end());
  ids.insert(ids.end(), added_.behind.begin(), added_.behind.end());
  return ids;
}

std::string_view SentencePieceTokenizer::piece(int32_t id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(pieces_[id]) : std::string_view();
}

LeadingSpace SentencePieceTokenizer::leading_space(int32_t id) const {
  const bool own_space = id >= 0 && id < processor_->GetPieceSize() &&
                         processor_->IdToPiece(id).starts_with(kMetaSpace);
  return own_space ? leading_space_ : LeadingSpace::kKeep;
}

std::string SentencePieceTokenizer::token(int32_t id) const {
  if (id >= 0 && id < processor_->GetPieceSize() && processor_->IsControl(id))
    return processor_->IdToPiece(id);
  const AddedToken* const added = added_.tokens.find(id);
  return added ? added->text : std::string(piece(id));
}

AXLE_REGISTER(SentencePieceTokenizer)

}  // namespace axle
