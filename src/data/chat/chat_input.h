// Batches of conversations, and of preferences: two answers to one conversation, of which one is
// better.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"
#include "data/chat/chat_source.h"
#include "data/chat/chat_template.h"
#include "data/chat/learned_text.h"
#include "data/held_out.h"
#include "data/input.h"
#include "data/packing.h"
#include "data/source.h"
#include "data/tokenizers/byte_tokenizer.h"

namespace axle {

/// What happens to a conversation that does not fit into a row.
enum class LongConversations {
  kCut,   // its first messages are kept, up to the last answer that fits
  kSkip,  // it is left out
};
constexpr auto texts_of(LongConversations) {
  return std::to_array<EnumText<LongConversations>>(
      {{LongConversations::kCut, "cut"}, {LongConversations::kSkip, "skip"}});
}

/// Rows of seq_len positions with whole conversations, several in a row as segments that do not see
/// each other. Only what the assistant says is a target. Conversations that are cut or left out are
/// counted in the facts.
///
/// The template's strftime_now() writes 26 July 2024, on any day: a run that is continued on
/// another day has the same rows.
class ChatInput final : public ForwardingInput {
 public:
  struct Config {
    /// Where the conversations come from: a ChatSource.
    Child<Source> source = ChatSource::Config{};
    /// How text becomes token ids. Special tokens in the template's text become their ids.
    Child<Tokenizer> tokenizer = ByteTokenizer::Config{};
    /// The chat template: a *.jinja file, a tokenizer_config.json or a GGUF file. None: that of
    /// the tokenizer's own files; if they have none, each message between <|im_start|> with its
    /// role and <|im_end|>.
    std::optional<std::string> chat_template = {};
    /// Positions in a row.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows in a batch, over all hosts.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// The order of rows: `rows` shuffles the conversations once and rows again in each epoch,
    /// `none` keeps their order.
    Shuffle shuffle = Shuffle::kRows;
    /// Passes over the data; none: without end.
    std::optional<NumEpochs> epochs = {};
    /// The part of the conversations that this input reads.
    Split split = Split::kAll;
    /// Share of the bytes that the split held_out takes.
    FractionBelowOne held_out_fraction = 0.05;
    /// Which tokens are targets.
    Learned learned = Learned::kAssistant;
    /// How conversations share rows: `whole` one after the other with gaps, `best_fit` where the
    /// gaps are smallest. None is cut.
    Packing packing = Packing::kWhole;
    /// What happens to a conversation of more than seq_len positions.
    LongConversations too_long = LongConversations::kCut;
    /// What a conversation does that the template refuses: `fail` ends the program, `skip` leaves
    /// it out and counts it.
    OnError on_error = OnError::kFail;
    /// Files of more bytes are rendered and encoded once into a token file in the user's cache
    /// folder and read from there, with the order and the split of a TokenInput.
    Positive<int64_t> memory_bytes = 32 << 20;
    AXLE_CONFIG(ChatInput, source, tokenizer, chat_template, seq_len, batch_size, shuffle, epochs,
                split, held_out_fraction, learned, packing, too_long, on_error, memory_bytes)
  };
  /// Reads, renders and encodes all conversations, unless their tokens are there already. Throws
  /// ConfigError if the tokenizer's vocabulary is larger than the model's, or for a packing that
  /// cuts. Throws DataError as the source and the template do, or if there is nothing to learn.
  ChatInput(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// The rows of a ChatInput of few conversations.
class ChatInMemory final : public LearnedInput {
 public:
  /// Throws as ChatInput does.
  ChatInMemory(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope);
};

/// Rows for a PreferenceLM: each holds the conversation with the chosen answer as segment 1, and
/// the one with the rejected answer as segment 2. The targets are the tokens behind the messages
/// that both have in common, which the assistant says. Pairs that do not fit into a row are left
/// out and counted.
///
/// The template's strftime_now() writes 26 July 2024, as ChatInput does.
class PreferenceInput final : public ForwardingInput {
 public:
  struct Config {
    /// Where the pairs come from: a ChatSource.
    Child<Source> source = ChatSource::Config{};
    /// How text becomes token ids. Special tokens in the template's text become their ids.
    Child<Tokenizer> tokenizer = ByteTokenizer::Config{};
    /// The chat template, as ChatInput has it.
    std::optional<std::string> chat_template = {};
    /// Positions in a row, for both answers.
    Required<Positive<int64_t>> seq_len = REQUIRED;
    /// Rows in a batch, over all hosts: one pair each.
    Required<Positive<int64_t>> batch_size = REQUIRED;
    /// The order of pairs: `rows` shuffles them again in each epoch, `none` keeps their order.
    Shuffle shuffle = Shuffle::kRows;
    /// Passes over the data; none: without end.
    std::optional<NumEpochs> epochs = {};
    /// The part of the pairs that this input reads.
    Split split = Split::kAll;
    /// Share of the bytes that the split held_out takes.
    FractionBelowOne held_out_fraction = 0.05;
    /// What a pair does that the template refuses: `fail` ends the program, `skip` leaves it out
    /// and counts it.
    OnError on_error = OnError::kFail;
    /// Files of more bytes are rendered and encoded once into a token file in the user's cache
    /// folder and read from there, with the order and the split of a TokenInput.
    Positive<int64_t> memory_bytes = 32 << 20;
    AXLE_CONFIG(PreferenceInput, source, tokenizer, chat_template, seq_len, batch_size, shuffle,
                epochs, split, held_out_fraction, on_error, memory_bytes)
  };
  /// Reads, renders and encodes all pairs, unless their tokens are there already. Throws as
  /// ChatInput does.
  PreferenceInput(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// The rows of a PreferenceInput of few pairs.
class PreferenceInMemory final : public LearnedInput {
 public:
  /// Throws as PreferenceInput does.
  PreferenceInMemory(const PreferenceInput::Config& cfg, const Dims& dims, const Scope& scope);
};

/// A conversation as it goes into a row, or why it does not.
struct PreparedConversation {
  LearnedTokens tokens = {};
  std::string text = {};
  Remarks remarks = {};
  std::string reason = {};   // "": it goes into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

/// How many are prepared together.
inline constexpr size_t kConversationsAtOnce = 512;

/// Renders, encodes and cuts conversations.
class ConversationPreparer {
 public:
  struct Options {
    Learned learned = Learned::kAssistant;
    LongConversations too_long = LongConversations::kCut;
    std::optional<int64_t> seq_len = {};  // positions of a row; none: all conversations fit
  };
  /// The tokenizer and the template must outlive this.
  ConversationPreparer(const Options& options, const Tokenizer& tokenizer, const ChatTemplate& chat)
      : options_(options), tokenizer_(tokenizer), chat_(chat) {}
  PreparedConversation prepare(const Document& document) const;
  /// The same of several, on all cores.
  std::vector<PreparedConversation> prepare(std::span<const Document> documents) const;

 private:
  bool fits(const PreparedConversation& prepared) const;
  PreparedConversation of_first(const Conversation& conversation, size_t count) const;
  void fit(const Conversation& conversation, PreparedConversation& out) const;

  Options options_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

/// Both answers of a pair, each with its conversation, or why they do not go into a row.
struct PreparedPair {
  LearnedTokens chosen = {}, rejected = {};
  std::string chosen_text = {}, rejected_text = {};
  Remarks remarks = {};      // of both
  std::string reason = {};   // "": they go into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

/// Renders and encodes pairs.
class PairPreparer {
 public:
  /// `seq_len` is that of a row; none: all pairs fit. The tokenizer and the template must outlive
  /// this.
  PairPreparer(std::optional<int64_t> seq_len, const Tokenizer& tokenizer, const ChatTemplate& chat)
      : seq_len_(seq_len), tokenizer_(tokenizer), chat_(chat) {}
  PreparedPair prepare(const Document& document) const;

 private:
  PreparedPair read(const Document& document) const;
  LearnedTokens answer_of(const Conversation& conversation, size_t num_shared, std::string& text,
                          Remarks& remarks) const;

  std::optional<int64_t> seq_len_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

}  // namespace axle
