// What of a conversation a model learns: the text of the assistant's turns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "data/chat/answer_spans.h"
#include "data/chat/chat_template.h"
#include "data/input.h"
#include "data/packing.h"
#include "data/source.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Which tokens of a conversation are targets.
enum class Learned {
  kAssistant,  // what the assistant says, with what ends its turns
  kAll,        // every token
};
constexpr auto texts_of(Learned) {
  return std::to_array<EnumText<Learned>>(
      {{Learned::kAssistant, "assistant"}, {Learned::kAll, "all"}});
}

/// What strftime_now() of templates writes in training, in Unix time: noon of 26 July 2024.
inline constexpr int64_t kNowOfTraining = 1721995200;

/// A rendered conversation, and the bytes of it that are learned.
struct LearnedText {
  std::string text;
  std::vector<MessageSpan> learned = {};  // in order, without overlaps
  Remarks remarks = {};
};

/// Renders the messages, as written_messages() makes them. What the assistant says is what the
/// template's generation blocks hold; if it has none, what it writes for the assistant's messages
/// (answer_spans()); messages of the weight 0 are not learned, except with Learned::kAll. Throws
/// DataError as ChatTemplate::render() and written_messages() do, and for generation blocks whose
/// location in the text is not known.
LearnedText learned_text(const ChatTemplate& chat, std::span<const jinja::Value> messages,
                         const jinja::Value& tools, Learned learned,
                         const ChatTemplate::Options& options);

/// The ids of a text, and a flag for each: whether it is learned.
struct LearnedTokens {
  std::vector<int32_t> ids;
  std::vector<uint8_t> is_learned;
  bool has_learned() const;
};

/// Encodes the text as a whole, with its special tokens. A token is learned if its first byte is.
/// Where the pieces of the ids do not add up to the text, so that their offsets are not known, the
/// flags are those that the ids have where learned and other parts are encoded one by one.
LearnedTokens encode_learned(const Tokenizer& tokenizer, const LearnedText& text);

/// The bytes of text that ids stand for.
class TextOfIds {
 public:
  explicit TextOfIds(const Tokenizer& tokenizer);
  struct Sizes {
    int64_t text_bytes = 0, piece_bytes = 0;
  };
  /// Returns the bytes of a text without the names of special tokens, perhaps below 0 where its ids
  /// have more of these, and of the pieces of its ids.
  Sizes sizes_of(std::span<const int32_t> ids, std::string_view text) const;
  void add(std::span<const int32_t> ids, std::string_view text);
  /// Bytes of the texts without the names of special tokens, and of the pieces of all ids.
  int64_t text_bytes() const { return std::max<int64_t>(text_bytes_, 0); }
  int64_t piece_bytes() const { return piece_bytes_; }
  /// Returns the average bytes of text for each id: pieces differ from the text where it is
  /// normalized.
  std::vector<double> bytes_of_ids() const;

 private:
  const Tokenizer& tokenizer_;
  std::vector<int64_t> piece_sizes_;
  int64_t text_bytes_ = 0, piece_bytes_ = 0;
};

/// Returns what is wrong with ids for which a model of `vocab_size` rows has none, beginning with
/// `where`; "" if it has one for each. `name` is that of the tokenizer in messages.
std::string problem_of_ids(std::span<const int32_t> ids, const std::string& where,
                           const Tokenizer& tokenizer, std::string_view name, int64_t vocab_size);

class LearnedDocuments {
 public:
  /// `tokenizer` must outlive this; `name` stands for it in messages.
  LearnedDocuments(const Tokenizer& tokenizer, std::string name, int64_t model_vocab_size);

  /// As problem_of_ids().
  std::string problem_of(const LearnedTokens& tokens, const std::string& where) const;
  /// Adds the tokens of a conversation, its text and its location.
  void add(const LearnedTokens& tokens, std::string_view text, std::string where);
  /// Returns what the documents from `source` are, without what depends on how they are used.
  InputFacts facts(const Source& source, const Skipped& skipped) const;
  /// Moves the documents into batches.
  std::unique_ptr<PackedBatches> take_batches(const PackedBatches::Options& options);

  TokenizedDocuments documents;
  std::vector<std::string> wheres;
  ByteHistogram bytes;

 private:
  const Tokenizer& tokenizer_;
  std::string name_;
  int64_t model_vocab_size_;
  TextOfIds text_of_ids_;
};

class LearnedInput : public Input {
 public:
  Tree<Type> element_spec() const final { return batches_->element_spec(); }
  std::optional<Batch> next() final { return batches_->next(); }
  std::string state() const final { return batches_->state(); }
  void restore(std::string_view state) final { batches_->restore(state); }
  InputFacts facts() const final { return facts_; }
  std::vector<RowOrigin> origins_of_batch(int64_t batch) final {
    return batches_->origins_of_batch(batch, wheres_);
  }

 protected:
  /// Throws ConfigError for a source of texts. `path` is that of the input.
  static void check_source(const Child<Source>& source, const std::string& path);
  /// Moves the documents into batches of these options. `facts` are about the documents. Throws
  /// DataError if there are none: `what` says what was expected, up to the number of positions.
  /// `path` is that of the input.
  void take(LearnedDocuments& learned, const InputFacts& facts,
            const PackedBatches::Options& options, std::string_view what, const std::string& path);

 private:
  InputFacts facts_;
  std::vector<std::string> wheres_;  // the location of each document
  std::unique_ptr<PackedBatches> batches_;
};

}  // namespace axle
