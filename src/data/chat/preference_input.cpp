#include "data/chat/preference_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "config/register.h"
#include "data/text_input.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {
namespace {

constexpr const char* kUnknownBlock =
    ": expected one generation block for each answer, or blocks in a loop over messages, got "
    "blocks "
    "of which nobody knows whether both conversations share them";

// Both answers as tokens and texts, or why they do not go into a row.
struct Pair {
  LearnedTokens chosen = {}, rejected = {};
  std::string chosen_text = {}, rejected_text = {};
  std::string reason = {};  // "": they go into a row
};

// The number of messages with which both conversations begin.
size_t num_shared_messages(std::string_view pair) {
  const nlohmann::ordered_json json = read_json(pair);
  const auto &chosen = json.at("chosen"), &rejected = json.at("rejected");
  size_t out = 0;
  while (out < chosen.size() && out < rejected.size() && chosen[out] == rejected[out]) ++out;
  return out;
}

class PairMaker {
 public:
  PairMaker(const Tokenizer& tokenizer, const ChatTemplate& chat, int64_t seq_len)
      : tokenizer_(tokenizer), chat_(chat), seq_len_(seq_len) {}

  Pair make(const Document& document) const {
    const auto read = [&](const char* name) {
      return json_as<DataError>(document.where,
                                [&] { return conversation_of(document.text, name); });
    };
    const Conversation chosen = read("chosen"), rejected = read("rejected");
    const size_t num_shared = num_shared_messages(document.text);
    Pair out;
    if (num_shared == std::min(chosen.messages.size(), rejected.messages.size())) {
      out.reason = "with two answers of which one begins the other";
      return out;
    }
    out.chosen = answer_of(chosen, num_shared, out.chosen_text);
    out.rejected = answer_of(rejected, num_shared, out.rejected_text);
    if (!out.chosen.has_learned() || !out.rejected.has_learned())
      out.reason = "without an answer";
    else if (std::ssize(out.chosen.ids) + std::ssize(out.rejected.ids) - 2 > seq_len_)
      out.reason = "too long";
    return out;
  }

 private:
  // The tokens of a conversation, whose first messages are not learned.
  LearnedTokens answer_of(const Conversation& conversation, size_t num_shared,
                          std::string& text) const {
    const ChatTemplate::Options options{.now_secs = kNowOfTraining};
    LearnedText learned = learned_text(chat_, conversation.messages, conversation.tools,
                                       Learned::kAssistant, options);
    for (const MessagePlace& place : learned.learned) {
      if (place.message == kUnknownMessage && has_answer(conversation, num_shared))
        throw DataError(chat_.name() + kUnknownBlock);
    }
    std::erase_if(learned.learned,
                  [&](const MessagePlace& place) { return place.message < num_shared; });
    LearnedTokens out = encode_learned(tokenizer_, learned);
    text = std::move(learned.text);
    return out;
  }

  static bool has_answer(const Conversation& conversation, size_t count) {
    return std::ranges::any_of(std::span(conversation.messages).first(count),
                               [](const auto& m) { return role_of(m) == "assistant"; });
  }

  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
  int64_t seq_len_;
};

}  // namespace

PreferenceInput::PreferenceInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  auto own = find_chat_template(*tokenizer, cfg.chat_template, scope.path + ".chat_template");
  const ChatTemplate chat = own ? std::move(*own) : plain_chat_template(*tokenizer);
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  SkipLog skips(cfg.on_error, scope.path + ".on_error");
  skips.add(source->skipped());
  LearnedDocuments learned(*tokenizer, tokenizer_name(cfg.tokenizer), dims.vocab_size);
  const PairMaker maker(*tokenizer, chat, cfg.seq_len);
  const auto add = [&](const Document& document) {
    const Pair pair = maker.make(document);
    if (!pair.reason.empty()) return skips.skip(pair.reason, document.where);
    for (const LearnedTokens* tokens : {&pair.chosen, &pair.rejected}) {
      if (const std::string problem = learned.problem_of(*tokens, document.where); !problem.empty())
        return skips.refuse("with tokens that the model lacks", document.where, problem);
    }
    learned.add(pair.chosen, pair.chosen_text, document.where);
    learned.add(pair.rejected, pair.rejected_text, document.where);
  };
  int64_t num_read = 0;
  for (const Document& document :
       select_whole(source->documents(), cfg.split, cfg.held_out_fraction, scope.path)) {
    try {
      add(document);
    } catch (const DataError& error) {
      skips.refuse("not rendered", document.where, document.where + ": " + error.what());
    }
    constexpr int64_t kAtOnce = 512;
    if (++num_read % kAtOnce == 0)
      check_host_allocation(scope.path, "the tokens of pairs", 5 * learned.documents.num_tokens());
  }
  InputFacts facts = learned.facts(*source, skips.skipped());
  facts.num_documents /= 2;
  take(learned, facts, PackedBatches::Options::of(cfg, dims.seed, Packing::kPairs),
       "pairs of answers that take at most", scope.path);
}

AXLE_REGISTER(PreferenceInput)

}  // namespace axle
