#include "data/chat/prepared_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "data/chat/written_messages.h"

namespace axle {

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

}  // namespace axle
