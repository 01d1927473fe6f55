#include "data/chat/chat_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "config/carry.h"
#include "config/register.h"
#include "data/chat/build_chat_file.h"
#include "data/chat/chat_template.h"
#include "data/chat/written_messages.h"
#include "data/held_out.h"
#include "data/text_input.h"
#include "data/token_files/token_input.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {

ChatInput::ChatInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  if (cfg.packing != Packing::kWhole && cfg.packing != Packing::kBestFit) {
    throw ConfigError(fmt::format(
        "{}.packing: expected whole or best_fit, which keep conversations whole, got {}",
        scope.path, to_text(cfg.packing)));
  }
  if (is_streamed(cfg.source, cfg.memory_bytes))
    rows_ = std::make_unique<StreamedChat>(cfg, dims, scope);
  else
    rows_ = std::make_unique<ChatInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(ChatInput)

namespace {

// Texts and tokens are cut by default, which conversations are not: they stay whole then.
const CarryRule kChatInputCarry(typeid(ChatInput), "", [](const AnyConfig& old, const ConfigType&) {
  const auto keep_whole = [](auto* input) {
    if (input && input->packing == Packing::kCut) input->packing = Packing::kWhole;
  };
  keep_whole(old.get_if<TextInput::Config>());
  keep_whole(old.get_if<TokenInput::Config>());
});

}  // namespace

ChatInMemory::ChatInMemory(const ChatInput::Config& cfg, const Dims& dims, const Scope& scope) {
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  const ChatTemplate chat =
      chat_template_or_plain(*tokenizer, cfg.chat_template, scope.path + ".chat_template");
  check_source(cfg.source, scope.path);
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  const std::vector<Document> documents =
      select_whole(source->documents(), cfg.split, cfg.held_out_fraction, scope.path);

  SkipLog skips(cfg.on_error, scope.path + ".on_error");
  skips.add(source->skipped());
  LearnedDocuments learned(*tokenizer, tokenizer_name(cfg.tokenizer), dims.vocab_size);
  Remarks remarks;
  const auto add = [&](const PreparedConversation& one, const std::string& where) {
    if (!one.message.empty()) return skips.refuse(one.reason, where, one.message);
    if (!one.reason.empty()) return skips.skip(one.reason, where);
    if (const std::string problem = learned.problem_of(one.tokens, where); !problem.empty())
      return skips.refuse("with tokens that the model lacks", where, problem);
    learned.add(one.tokens, one.text, where);
    remarks += one.remarks;
  };
  const ConversationPreparer preparer(
      {.learned = cfg.learned, .too_long = cfg.too_long, .seq_len = cfg.seq_len}, *tokenizer, chat);
  // The first mistakes are reported soon, also where a conversation takes long.
  size_t at_once = 4;
  for (size_t begin = 0, count = 0; begin < documents.size(); begin += count) {
    count = std::min(at_once, documents.size() - begin);
    at_once = std::min(kConversationsAtOnce, 2 * at_once);
    const auto prepared = preparer.prepare(std::span(documents).subspan(begin, count));
    for (size_t i = 0; i < count; ++i) add(prepared[i], documents[begin + i].where);
    check_host_allocation(scope.path, "the tokens of conversations",
                          5 * learned.documents.num_tokens());
  }
  InputFacts facts = learned.facts(*source, skips.skipped());
  facts.remarks = remarks;
  add_template(facts, chat, *tokenizer);
  take(learned, facts, PackedBatches::Options::of(cfg, dims.seed, cfg.packing),
       "conversations with answers of at most", scope.path);
}

PreferenceInput::PreferenceInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  if (is_streamed(cfg.source, cfg.memory_bytes))
    rows_ = std::make_unique<StreamedChat>(cfg, dims, scope);
  else
    rows_ = std::make_unique<PreferenceInMemory>(cfg, dims, scope);
}

AXLE_REGISTER(PreferenceInput)

PreferenceInMemory::PreferenceInMemory(const PreferenceInput::Config& cfg, const Dims& dims,
                                       const Scope& scope) {
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  const ChatTemplate chat =
      chat_template_or_plain(*tokenizer, cfg.chat_template, scope.path + ".chat_template");
  check_source(cfg.source, scope.path);
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  SkipLog skips(cfg.on_error, scope.path + ".on_error");
  skips.add(source->skipped());
  LearnedDocuments learned(*tokenizer, tokenizer_name(cfg.tokenizer), dims.vocab_size);
  const PairPreparer preparer(cfg.seq_len, *tokenizer, chat);
  Remarks remarks;
  const auto add = [&](const Document& document) {
    const PreparedPair pair = preparer.prepare(document);
    if (!pair.message.empty()) return skips.refuse(pair.reason, document.where, pair.message);
    if (!pair.reason.empty()) return skips.skip(pair.reason, document.where);
    for (const LearnedTokens* tokens : {&pair.chosen, &pair.rejected}) {
      if (const std::string problem = learned.problem_of(*tokens, document.where); !problem.empty())
        return skips.refuse("with tokens that the model lacks", document.where, problem);
    }
    learned.add(pair.chosen, pair.chosen_text, document.where);
    learned.add(pair.rejected, pair.rejected_text, document.where);
    remarks += pair.remarks;
  };
  int64_t num_read = 0;
  for (const Document& document :
       select_whole(source->documents(), cfg.split, cfg.held_out_fraction, scope.path)) {
    add(document);
    constexpr int64_t kAtOnce = 512;
    if (++num_read % kAtOnce == 0)
      check_host_allocation(scope.path, "the tokens of pairs", 5 * learned.documents.num_tokens());
  }
  InputFacts facts = learned.facts(*source, skips.skipped());
  facts.num_documents /= 2;
  facts.remarks = remarks;
  add_template(facts, chat, *tokenizer);
  take(learned, facts, PackedBatches::Options::of(cfg, dims.seed, Packing::kPairs),
       "pairs of answers that take at most", scope.path);
}

PreparedConversation ConversationPreparer::prepare(const Document& document) const {
  PreparedConversation out;
  try {
    fit(conversation_of(document.text), out);
  } catch (const jinja::TemplateRefusal& refusal) {
    out = {.reason = "refused by the template", .message = document.where + ": " + refusal.what()};
  } catch (const JsonError& error) {
    out = {.reason = "no conversation", .message = document.where + ": " + error.what()};
  } catch (const DataError& error) {
    out = {.reason = "not rendered", .message = document.where + ": " + error.what()};
  }
  return out;
}

bool ConversationPreparer::fits(const PreparedConversation& prepared) const {
  return !options_.seq_len || std::ssize(prepared.tokens.ids) - 1 <= *options_.seq_len;
}

PreparedConversation ConversationPreparer::of_first(const Conversation& conversation,
                                                    size_t count) const {
  LearnedText text = learned_text(
      chat_, std::span(conversation.messages).first(count), conversation.tools, options_.learned,
      {.variables = conversation.variables, .now_secs = kNowOfTraining});
  PreparedConversation out{.tokens = encode_learned(tokenizer_, text),
                           .text = std::move(text.text),
                           .remarks = text.remarks};
  if (!out.tokens.has_learned()) out.reason = "without an answer";
  return out;
}

void ConversationPreparer::fit(const Conversation& conversation, PreparedConversation& out) const {
  out = of_first(conversation, conversation.messages.size());
  if (!out.reason.empty() || fits(out)) return;
  out = {.reason = "too long"};
  if (options_.too_long == LongConversations::kSkip) return;
  // Where it may be cut: behind answers. The more messages, the more tokens.
  std::vector<size_t> ends;
  for (size_t i = 0; i + 1 < conversation.messages.size(); ++i) {
    if (role_of(conversation.messages[i]) == "assistant") ends.push_back(i + 1);
  }
  for (size_t low = 0, high = ends.size(); low < high;) {
    const size_t middle = (low + high) / 2;
    PreparedConversation part = of_first(conversation, ends[middle]);
    if (!fits(part)) {
      high = middle;
      continue;
    }
    low = middle + 1;
    if (!part.reason.empty()) continue;
    out = std::move(part);
    out.remarks[Remark::kCut] = 1;
  }
  if (out.remarks[Remark::kCut] == 0) out.reason = "too long up to the first answer";
}

std::vector<PreparedConversation> ConversationPreparer::prepare(
    std::span<const Document> documents) const {
  std::vector<PreparedConversation> out(documents.size());
  parallel_for(std::ssize(documents), 4, [&](int64_t from, int64_t to) {
    for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
      out[i] = prepare(documents[i]);
  });
  return out;
}

namespace {

constexpr const char* kUnknownBlock =
    ": expected one generation block for each answer, or blocks in a loop over messages, got "
    "blocks of which nobody knows whether both conversations share them";

// The number of messages with which both conversations begin.
size_t num_shared_messages(std::string_view pair) {
  const nlohmann::ordered_json json = read_json(pair);
  const auto &chosen = json.at("chosen"), &rejected = json.at("rejected");
  size_t out = 0;
  while (out < chosen.size() && out < rejected.size() && are_same(chosen[out], rejected[out]))
    ++out;
  return out;
}

bool has_answer(const Conversation& conversation, size_t count) {
  return std::ranges::any_of(std::span(conversation.messages).first(count),
                             [](const auto& m) { return role_of(m) == "assistant"; });
}

}  // namespace

PreparedPair PairPreparer::prepare(const Document& document) const {
  try {
    return read(document);
  } catch (const JsonError& error) {
    return {.reason = "no pair of answers", .message = document.where + ": " + error.what()};
  } catch (const DataError& error) {
    return {.reason = "not rendered", .message = document.where + ": " + error.what()};
  }
}

PreparedPair PairPreparer::read(const Document& document) const {
  const Conversation chosen = conversation_of(document.text, "chosen"),
                     rejected = conversation_of(document.text, "rejected");
  const size_t num_shared = num_shared_messages(document.text);
  PreparedPair out;
  const size_t num_chosen = chosen.messages.size(), num_rejected = rejected.messages.size();
  if (num_shared == num_chosen && num_shared == num_rejected) {
    out.reason = "with two equal answers";
    return out;
  }
  if (num_shared == std::min(num_chosen, num_rejected)) {
    out.reason = "with two answers of which one begins the other";
    return out;
  }
  const auto is_answer = [&](const Conversation& one) {
    return role_of(one.messages[num_shared]) == "assistant";
  };
  if (!is_answer(chosen) || !is_answer(rejected)) {
    out.reason = "with answers to two questions";
    return out;
  }
  out.chosen = answer_of(chosen, num_shared, out.chosen_text, out.remarks);
  out.rejected = answer_of(rejected, num_shared, out.rejected_text, out.remarks);
  const int64_t length = std::ssize(out.chosen.ids) + std::ssize(out.rejected.ids) - 2;
  if (!out.chosen.has_learned() || !out.rejected.has_learned())
    out.reason = "without an answer";
  else if (seq_len_ && length > *seq_len_)
    out.reason = "too long";
  return out;
}

// The tokens of a conversation, whose first messages are not learned.
LearnedTokens PairPreparer::answer_of(const Conversation& conversation, size_t num_shared,
                                      std::string& text, Remarks& remarks) const {
  LearnedText learned =
      learned_text(chat_, conversation.messages, conversation.tools, Learned::kAssistant,
                   {.variables = conversation.variables, .now_secs = kNowOfTraining});
  remarks.raise_to(learned.remarks);
  for (const MessageSpan& span : learned.learned) {
    if (span.message == kUnknownMessage && has_answer(conversation, num_shared))
      throw DataError(chat_.name() + kUnknownBlock);
  }
  std::erase_if(learned.learned,
                [&](const MessageSpan& span) { return span.message < num_shared; });
  LearnedTokens out = encode_learned(tokenizer_, learned);
  text = std::move(learned.text);
  return out;
}

}  // namespace axle
