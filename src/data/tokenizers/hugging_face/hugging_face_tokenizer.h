// Tokenizers of Hugging Face's library: the file tokenizer.json.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace axle::hugging_face {

/// tokenizer_config.json, special_tokens_map.json, added_tokens.json, generation_config.json and
/// chat_template.jinja, as far as they are there. A tokenizer_config.json that lists the added
/// tokens stands for the two files behind it, else those count more.
class FilesBeside {
 public:
  /// Reads the files. Throws DataError for one that is not JSON.
  explicit FilesBeside(const std::filesystem::path& tokenizer);

  /// True if there is a file that may name tokens.
  bool name_tokens() const;
  /// Returns the text of the special token of a name: "eos_token".
  std::optional<std::string> special_token(std::string_view name) const;
  /// Returns the special tokens that have a name, each text once, in the order in which
  /// transformers 5 adds them. They have no ids. Names of a model's own count, too
  /// ("image_token").
  std::vector<AddedToken> named_tokens() const;
  /// Returns these, then the special tokens without a name.
  std::vector<AddedToken> special_tokens() const;
  /// True if tokenizer_config.json lists the added tokens.
  bool lists_added_tokens() const;
  /// Returns the tokens added to a vocabulary, by id.
  std::vector<AddedToken> added_tokens() const;
  /// Returns the same. Throws DataError for two of one id or text.
  std::vector<AddedToken> distinct_added_tokens() const;
  /// Returns the class of transformers that tokenizer_config.json names: "LlamaTokenizer", also for
  /// "LlamaTokenizerFast". "": none.
  std::string tokenizer_class() const;
  /// Returns a setting of tokenizer_config.json.
  bool flag(std::string_view name, bool otherwise) const;
  /// Returns the template, the special tokens, and the ids of generation_config.json that end a
  /// text. A template of its own file replaces the one in tokenizer_config.json. Throws
  /// DataError for a field of another kind, and for an id that is not below `vocab_size`.
  ChatSettings chat_settings(int64_t vocab_size) const;

 private:
  struct File {
    explicit File(const std::filesystem::path& file);
    std::string path;
    std::optional<nlohmann::ordered_json> json = {};
  };
  /// Calls read(field) for the field of the file that counts, if there is one.
  void read_special(std::string_view name, const std::function<void(const JsonView&)>& read) const;
  /// Returns the names of special tokens beside the ones of every model.
  std::vector<std::string> own_names() const;
  std::vector<AddedToken> read_special_tokens(bool with_nameless) const;

  File tokenizer_config_, special_tokens_map_, added_tokens_, generation_config_;
  std::filesystem::path chat_template_;
};

}  // namespace axle::hugging_face

namespace axle {

/// Produces the ids of the library: byte-pair encoding, unigram models, word pieces and whole
/// words, with the normalizers, pre-tokenizers and decoders of the file. encode() takes the names
/// of special tokens in a text as text. "truncation" and "padding" of the file are left out. The
/// ids around a text are as in transformers 5, for the class that tokenizer_config.json names.
///
/// Text that is decoded is the library's without special tokens. Where ids make no whole
/// characters, it shows each byte token that does not fit as U+FFFD, and the library all of the
/// byte tokens around it.
class HuggingFaceTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The file tokenizer.json.
    Required<std::string> path = REQUIRED;
    /// The token that begins a document. None: the first that stands before a text, if any.
    std::optional<std::string> bos = {};
    /// The token that ends a document. None: that of tokenizer_config.json beside the file, else
    /// the last that stands behind a text, if any.
    std::optional<std::string> eos = {};
    /// The token of padding. None: that of tokenizer_config.json.
    std::optional<std::string> pad = {};
    AXLE_CONFIG(HuggingFaceTokenizer, path, bos, eos, pad)
  };
  /// Throws DataError with file and field if the file is missing, damaged or of another kind.
  HuggingFaceTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
};

}  // namespace axle
