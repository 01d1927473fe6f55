#include "data/tokenizers/parts/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {

int64_t TokenizerParts::num_ids() const {
  int64_t out = model->vocabulary().end_id();
  for (const AddedToken& token : added.tokens()) out = std::max(out, token.id + int64_t{1});
  return out;
}

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  const Vocabulary& vocabulary = parts_.model->vocabulary();
  pieces_.resize(static_cast<size_t>(parts_.num_ids()));
  for (int64_t id = 0; id < vocabulary.end_id(); ++id) {
    if (const std::string* const token = vocabulary.token(id))
      pieces_[static_cast<size_t>(id)] = parts_.decoder(*token);
  }
  for (const AddedToken& token : parts_.added.tokens()) {
    pieces_[static_cast<size_t>(token.id)] =
        token.special ? std::string() : parts_.decoder(token.shown);
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
  constexpr int64_t kOfText = 15, kOfPlaces = 35;  // lists of the places of pieces
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
  return id >= 0 && id < vocab_size() ? std::string_view(pieces_[static_cast<size_t>(id)])
                                      : std::string_view();
}

std::string PipelineTokenizer::token(int32_t id) const {
  if (const AddedToken* const added = parts_.added.find(id)) return added->text;
  const std::string* const token = parts_.model->vocabulary().token(id);
  return token ? *token : std::string();
}

}  // namespace axle
