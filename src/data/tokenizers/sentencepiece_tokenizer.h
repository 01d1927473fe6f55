// Tokenizers of the SentencePiece library: BPE and unigram models in its own file format.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace axle {

/// Throws DataError with `path` and the place if a piece has a score that is not finite, if a byte
/// piece does not have the name of a byte, or if the table of normalized characters points outside
/// itself. The library trusts these tables, and a damaged one makes it read beyond its memory. Does
/// not repeat the library's own checks. Returns the table of the normalizer, if there is one.
std::optional<CharsMap> check_sentencepiece_model(std::string_view model, const std::string& path);

struct AddedPieces {
  /// Tokens that are found in text before the model sees it.
  AddedTokens tokens = {};
  /// Ids of the special tokens that the files name ("eos_token").
  std::set<int32_t> named = {};
  /// A space is put before the text alone, else before each part of it between added tokens.
  bool has_one_space = false;
  SpecialIds special_ids = {};
  /// Ids that stand before and behind a text.
  std::vector<int32_t> before = {}, behind = {};
  ChatSettings chat = {};
  int64_t num_ids = 0;
  /// What ids of texts depend on; empty if the files add nothing.
  std::string hashed = {};
};

/// The model without the files.
struct BarePieces {
  int64_t num_pieces = 0;
  SpecialIds special_ids = {};
  /// Returns the id of a piece.
  std::function<std::optional<int32_t>(const std::string&)> find = {};
  /// The control pieces, by id.
  std::vector<AddedToken> controls = {};
  bool is_control(int32_t id) const;
};

/// Reads added_tokens.json, special_tokens_map.json, tokenizer_config.json, generation_config.json
/// and chat_template.jinja beside `model`, as far as they are there, as LlamaTokenizer does.
/// Without a file that may name tokens, all control pieces are special tokens. Throws DataError.
AddedPieces added_pieces_beside(const std::string& model, const BarePieces& bare);

class SentencePieceParts;

/// Encodes and decodes as the library does, with the normalization that the model asks for. Text
/// that the vocabulary can't express is decoded as the model's symbol for unknown text. Files of
/// Hugging Face beside the model add tokens and name the special ones, as they do for its
/// LlamaTokenizer.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  struct Config {
    /// The model file.
    Required<std::string> path = REQUIRED;
    AXLE_CONFIG(SentencePieceTokenizer, path)
  };
  /// Throws DataError if the file is missing or not such a model.
  SentencePieceTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
  ~SentencePieceTokenizer() override;

  int64_t vocab_size() const override { return std::ssize(pieces_); }
  SpecialIds special_ids() const override { return added_.special_ids; }
  std::vector<int32_t> encode(std::string_view text) const override {
    return encode_as(text, false);
  }
  std::vector<int32_t> encode_with_special(std::string_view text) const override {
    return encode_as(text, true);
  }
  std::vector<int32_t> framed(std::vector<int32_t> ids) const override;
  EncodeBytes encode_bytes() const override;
  std::string_view piece(int32_t id) const override;
  LeadingSpace leading_space(int32_t id) const override;
  std::string token(int32_t id) const override;
  ChatSettings chat_settings() const override { return added_.chat; }
  std::vector<int32_t> added_ids() const override { return added_.tokens.ids(); }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  using Library = sentencepiece::SentencePieceProcessor;
  void add_files_beside();
  std::vector<int32_t> encode_as(std::string_view text, bool with_special) const;
  std::vector<int32_t> encode_part(std::string_view text, bool adds_space) const;

  std::string path_;
  std::unique_ptr<Library> processor_;
  std::unique_ptr<SentencePieceParts> parts_;  // none: the library encodes
  std::unique_ptr<Library> without_space_;     // then for parts of a text; may be none
  AddedPieces added_;
  bool finds_in_any_text_ = false;  // there are added tokens that are not special
  std::vector<std::string> pieces_;
  // For pieces that begin with the model's own space symbol.
  LeadingSpace leading_space_ = LeadingSpace::kKeep;
  uint64_t fingerprint_ = 0;
};

}  // namespace axle
