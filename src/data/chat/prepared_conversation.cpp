#include "data/chat/prepared_conversation.h"

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/json.h"

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

}  // namespace axle
