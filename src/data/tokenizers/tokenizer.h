// The role Tokenizer: text to token ids and back, all at once or one id at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "data/tokenizers/parts/byte_level.h"

namespace axle {

struct ChatSettings {
  /// A Jinja template; empty: there is none.
  std::string chat_template = {};
  /// Names that templates use and texts of special tokens: {"bos_token", "<s>"}.
  std::vector<std::pair<std::string, std::string>> special_tokens = {};
  /// Further ids that end an answer, beside SpecialIds::eos.
  std::vector<int32_t> end_ids = {};
};

/// Returns the template of a tokenizer_config.json: its field "chat_template", which is a text or a
/// list of templates with names, whose "default" is taken. Empty if the file has no such field.
/// Throws JsonError.
std::string chat_template_in(const JsonView& tokenizer_config);

/// Ids with a special meaning; none if the vocabulary has no such token.
struct SpecialIds {
  std::optional<int32_t> bos = {};  // begins a document
  std::optional<int32_t> eos = {};  // ends a document
  std::optional<int32_t> pad = {};  // padding
  bool operator==(const SpecialIds&) const = default;
};

/// What happens to the leading space of a piece at the start of decoded text, since some
/// vocabularies add a space when they encode. kDropAll keeps dropping until there is other text.
enum class LeadingSpace { kKeep, kDropOne, kDropAll };

/// How decoded text shows bytes that are no character: a U+FFFD for each byte, or one for each
/// longest beginning of a character.
enum class InvalidBytes { kEach, kEachPart };

/// The memory that encode() takes at the most, including its result.
struct EncodeBytes {
  /// For each byte of text.
  int64_t of_text = 0;
  /// Also for each byte of the longest stretch without a space, or of spaces: tokenizers cut there,
  /// and a model takes more for what is whole.
  int64_t of_stretch = 0;
};

/// Converts between text and token ids. Immutable after construction, so usable from several
/// threads.
class Tokenizer {
 public:
  using Role = Tokenizer;
  struct Dims {};
  virtual ~Tokenizer() = default;

  /// Returns the number of ids: they are 0 .. vocab_size() - 1.
  virtual int64_t vocab_size() const = 0;
  virtual SpecialIds special_ids() const = 0;
  /// Returns the ids of UTF-8 text, without special ids.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  /// Like encode(), but special tokens that stand in the text by name become their ids, as in the
  /// text of a chat template.
  virtual std::vector<int32_t> encode_with_special(std::string_view text) const {
    return encode(text);
  }
  /// Returns the ids between those that the tokenizer's own file puts before and behind a text.
  virtual std::vector<int32_t> framed(std::vector<int32_t> ids) const { return ids; }
  /// For text that is valid UTF-8 and that no normalizer makes longer; measured.
  virtual EncodeBytes encode_bytes() const = 0;
  /// Returns the bytes of memory that encode() takes at the most for such a text.
  int64_t encode_memory(std::string_view text) const;
  /// Returns the bytes that an id stands for, perhaps half a character; empty for special ids and
  /// for ids outside the vocabulary.
  virtual std::string_view piece(int32_t id) const = 0;
  virtual LeadingSpace leading_space(int32_t) const { return LeadingSpace::kKeep; }
  virtual InvalidBytes invalid_bytes() const { return InvalidBytes::kEach; }
  /// Returns the name of an id in the vocabulary, also of a special one ("<|im_end|>"). Empty for
  /// ids outside the vocabulary.
  virtual std::string token(int32_t id) const { return std::string(piece(id)); }
  /// Returns the ids of the tokens that are found in a text by name before its rest is encoded, in
  /// order: special tokens, and those that were added to the vocabulary.
  virtual std::vector<int32_t> added_ids() const { return {}; }
  /// Returns what the tokenizer's own files say of conversations.
  virtual ChatSettings chat_settings() const { return {}; }
  /// Returns a hash that is equal for tokenizers that encode alike. Checkpoints store it.
  virtual uint64_t fingerprint() const = 0;

  /// Returns the text of the ids, always valid UTF-8: bytes that do not fit become U+FFFD.
  std::string decode(std::span<const int32_t> ids) const;

 protected:
  /// Throws DataError "<path>: ..." for a text of 2 GiB or more, because merging encoders count in
  /// i32.
  static void check_text_size(std::string_view path, std::string_view text);
};

/// Returns the rows that a model must have for the tokenizer: as many as its ids, without special
/// tokens at the end that no text yields and that do not begin or end one (Gemma 3's image token).
int64_t needed_vocab_size(const Tokenizer& tokenizer);

/// The names of a tokenizer's special tokens that encode() takes for text: "<|im_start|>".
class SpecialNames {
 public:
  explicit SpecialNames(const Tokenizer& tokenizer);
  /// True if one of them stands in the text.
  bool stand_in(std::string_view text) const { return names_.find(text, 0).has_value(); }

 private:
  ByteTrie names_;
};

/// All results of push() and finish() joined equal Tokenizer::decode of the ids.
///
/// To continue a prompt, first push the ids of the prompt and drop the results: the text of the
/// first new id can depend on them.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  /// Returns the text that this id completes; empty while a character is incomplete.
  std::string push(int32_t id);
  /// Ends the text. An incomplete character becomes U+FFFD.
  std::string finish();

 private:
  std::string take(bool at_end);

  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_ = true;
};

}  // namespace axle
