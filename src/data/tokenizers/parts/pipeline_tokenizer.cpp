#include "data/tokenizers/parts/pipeline_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

// Returns where the last character of a text begins.
size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word(first_code_point(text.substr(last_character(text))).value);
}
bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word(first_code_point(text).value);
}

// Returns the bytes of white space at the end.
size_t space_at_end(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t at = last_character(text.substr(0, end));
    if (!is_white_space(first_code_point(text.substr(at)).value)) break;
    end = at;
  }
  return text.size() - end;
}
size_t space_at_start(std::string_view text, bool only_ascii) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = first_code_point(text.substr(at));
    if (!is_white_space(c.value) || (only_ascii && c.size > 1)) break;
    at += c.size;
  }
  return at;
}

// Returns the indices of the tokens in the order of a field, equal ones in their own order.
template <class Key>
std::vector<uint32_t> order_by(const std::vector<AddedToken>& tokens, Key AddedToken::*key) {
  std::vector<uint32_t> out(tokens.size());
  std::iota(out.begin(), out.end(), 0u);
  std::ranges::stable_sort(out, {}, [&](uint32_t i) -> const Key& { return tokens[i].*key; });
  return out;
}

// Returns the first token with a value of the field by which `order` is sorted.
template <class Key, class Value>
const AddedToken* first_of(const std::vector<AddedToken>& tokens,
                           const std::vector<uint32_t>& order, Key AddedToken::*key,
                           const Value& value) {
  const auto found = std::ranges::lower_bound(
      order, value, std::less<>(), [&](uint32_t i) -> const Key& { return tokens[i].*key; });
  if (found == order.end() || tokens[*found].*key != value) return nullptr;
  return &tokens[*found];
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::span<const Normalizer> normalizers,
                         std::string_view path)
    : tokens_(std::move(tokens)),
      by_id_(order_by(tokens_, &AddedToken::id)),
      by_text_(order_by(tokens_, &AddedToken::text)) {
  std::vector<ByteTrie::Entry> raw, normalized;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& token = tokens_[i];
    token.shown = token.text;
    if (token.normalized) normalize(token.shown, normalizers);
    // A text is searched in as many steps for each of its bytes as the longest token has bytes.
    if (token.shown.size() > kMaxTokenBytes) {
      throw DataError(fmt::format("{}: expected added tokens of at most {} bytes, got {} for '{}'",
                                  path, kMaxTokenBytes, token.shown.size(), printable(token.text)));
    }
    if (!token.shown.empty())
      (token.normalized ? normalized : raw).push_back({token.shown, static_cast<int32_t>(i)});
  }
  raw_ = ByteTrie(std::move(raw));
  normalized_ = ByteTrie(std::move(normalized));
}

std::vector<int32_t> AddedTokens::ids() const {
  std::vector<int32_t> out;
  for (const AddedToken& token : tokens_) out.push_back(token.id);
  std::ranges::sort(out);
  return out;
}
const AddedToken* AddedTokens::find(int32_t id) const {
  return first_of(tokens_, by_id_, &AddedToken::id, id);
}
const AddedToken* AddedTokens::find(std::string_view text) const {
  return first_of(tokens_, by_text_, &AddedToken::text, text);
}

void AddedTokens::cut(std::string_view text, bool normalized, bool with_special,
                      const std::function<void(int32_t)>& on_token,
                      const std::function<void(std::string_view)>& on_text) const {
  size_t done = 0, from = 0;
  std::array<size_t, 2> space_end = {};  // of the last white space of either kind
  while (const auto found = (normalized ? normalized_ : raw_).find(text, from)) {
    const AddedToken& token = tokens_[found->value];
    size_t begin = found->begin, end = found->begin + found->size;
    from = end;
    if (token.special && !with_special) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end))))
      continue;
    if (token.strip_left && done < begin) begin -= space_at_end(text.substr(done, begin - done));
    if (token.strip_right) {
      size_t& known = space_end[token.only_ascii ? 1 : 0];
      if (known < end) known = end + space_at_start(text.substr(end), token.only_ascii);
      end = known;
    }
    if (done < begin) on_text(text.substr(done, begin - done));
    on_token(token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

int64_t TokenizerParts::num_ids() const {
  int64_t out = model->vocabulary().end_id();
  for (const AddedToken& token : added.tokens()) out = std::max(out, token.id + int64_t{1});
  return out;
}

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  const Vocabulary& vocabulary = parts_.model->vocabulary();
  pieces_.resize(parts_.num_ids());
  for (int64_t id = 0; id < vocabulary.end_id(); ++id) {
    if (const std::string* const token = vocabulary.token(id)) pieces_[id] = parts_.decoder(*token);
  }
  for (const AddedToken& token : parts_.added.tokens()) {
    pieces_[token.id] = token.special ? std::string() : parts_.decoder(token.shown);
  }
}

std::vector<int32_t> PipelineTokenizer::encode_as(std::string_view text, bool with_special) const {
  check_text_size(parts_.path, text);
  try {
    return run(text, with_special);
  } catch (const DataError& error) {  // the parts do not know their file
    throw DataError(parts_.path + ": " + error.what());
  }
}

std::vector<int32_t> PipelineTokenizer::run(std::string_view text, bool with_special) const {
  std::string valid;
  if (find_invalid_utf8(text)) text = valid = to_valid_utf8(text);
  std::vector<int32_t> ids;
  const auto scratch = parts_.model->make_scratch(text.size());
  const auto add = [&](int32_t id) { ids.push_back(id); };
  const char* const begin = text.data();
  parts_.added.cut(text, false, with_special, add, [&](std::string_view part) {
    const bool at_start = part.data() == begin;
    std::string normal(part);
    normalize(normal, parts_.normalizers);
    parts_.added.cut(normal, true, with_special, add, [&](std::string_view rest) {
      Pieces pieces = one_piece(std::string(rest), at_start && rest.data() == normal.data());
      for (const PreTokenizer& pre_tokenizer : parts_.pre_tokenizers) pre_tokenizer(pieces);
      for (const PieceRange& range : pieces.ranges)
        parts_.model->encode(pieces.view(range), scratch.get(), ids);
    });
  });
  return ids;
}

// True if the pre-tokenizers do.
bool PipelineTokenizer::cuts_at_spaces() const {
  std::string text = "one two three four five six";
  normalize(text, parts_.normalizers);
  const size_t size = text.size();
  Pieces pieces = one_piece(std::move(text), true);
  for (const PreTokenizer& pre_tokenizer : parts_.pre_tokenizers) pre_tokenizer(pieces);
  return std::ranges::all_of(
      pieces.ranges, [&](const PieceRange& range) { return range.end - range.begin < size / 2; });
}

EncodeBytes PipelineTokenizer::encode_bytes() const {
  constexpr int64_t kOfText = 15, kOfPlaces = 35;  // lists of the offsets of pieces
  const int64_t of_piece = parts_.model->piece_bytes();
  if (cuts_at_spaces()) return {.of_text = kOfText + kOfPlaces, .of_stretch = of_piece};
  if (parts_.model->cuts_words()) return {.of_text = kOfText, .of_stretch = of_piece};
  return {.of_text = kOfText + of_piece};
}

std::vector<int32_t> PipelineTokenizer::framed(std::vector<int32_t> ids) const {
  ids.insert(ids.begin(), parts_.before.begin(), parts_.before.end());
  ids.insert(ids.end(), parts_.behind.begin(), parts_.behind.end());
  return ids;
}

std::string_view PipelineTokenizer::piece(int32_t id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(pieces_[id]) : std::string_view();
}

std::string PipelineTokenizer::token(int32_t id) const {
  if (const AddedToken* const added = parts_.added.find(id)) return added->text;
  const std::string* const token = parts_.model->vocabulary().token(id);
  return token ? *token : std::string();
}

}  // namespace axle
