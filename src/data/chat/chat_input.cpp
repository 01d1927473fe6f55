#include "data/chat/chat_input.h"

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "config/register.h"
#include "data/text_input.h"

namespace axle {
namespace {

// A conversation as it goes into a row, or why it does not.
struct Prepared {
  LearnedTokens tokens = {};
  std::string text = {};
  bool is_cut = false;
  int64_t num_left_out = 0;  // answers
  std::string reason = {};   // "": it goes into a row
  std::string message = {};  // of a refusal; else what is left out is only counted
};

class Preparer {
 public:
  Preparer(const ChatInput::Config& cfg, const Tokenizer& tokenizer, const ChatTemplate& chat)
      : cfg_(cfg), tokenizer_(tokenizer), chat_(chat) {}

  Prepared prepare(const Document& document) const {
    Prepared out;
    try {
      const Conversation conversation =
          json_as<DataError>(document.where, [&] { return conversation_of(document.text); });
      fit(conversation, out);
    } catch (const jinja::TemplateRefusal& refusal) {
      out = {.reason = "refused by the template",
             .message = document.where + ": " + refusal.what()};
    } catch (const DataError& error) {
      out = {.reason = "not rendered", .message = document.where + ": " + error.what()};
    }
    return out;
  }

 private:
  bool fits(const Prepared& prepared) const {
    return std::ssize(prepared.tokens.ids) - 1 <= cfg_.seq_len;
  }

  Prepared of_first(const Conversation& conversation, size_t count) const {
    LearnedText text = learned_text(chat_, std::span(conversation.messages).first(count),
                                    conversation.tools, cfg_.learned, {.now_secs = kNowOfTraining});
    Prepared out{.tokens = encode_learned(tokenizer_, text),
                 .text = std::move(text.text),
                 .num_left_out = text.num_left_out};
    if (!out.tokens.has_learned()) out.reason = "without an answer";
    return out;
  }

  void fit(const Conversation& conversation, Prepared& out) const {
    out = of_first(conversation, conversation.messages.size());
    if (!out.reason.empty() || fits(out)) return;
    out = {.reason = "too long"};
    if (cfg_.too_long == LongConversations::kSkip) return;
    // Where it may be cut: behind answers. The more messages, the more tokens.
    std::vector<size_t> ends;
    for (size_t i = 0; i + 1 < conversation.messages.size(); ++i) {
      if (role_of(conversation.messages[i]) == "assistant") ends.push_back(i + 1);
    }
    for (size_t low = 0, high = ends.size(); low < high;) {
      const size_t middle = (low + high) / 2;
      Prepared part = of_first(conversation, ends[middle]);
      if (!fits(part)) {
        high = middle;
        continue;
      }
      low = middle + 1;
      if (!part.reason.empty()) continue;
      out = std::move(part);
      out.is_cut = true;
    }
    if (!out.is_cut) out.reason = "too long up to the first answer";
  }

  const ChatInput::Config& cfg_;
  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_;
};

}  // namespace

ChatInput::ChatInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  auto own = find_chat_template(*tokenizer, cfg.chat_template, scope.path + ".chat_template");
  const ChatTemplate chat = own ? std::move(*own) : plain_chat_template(*tokenizer);
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  const std::vector<Document> documents =
      select_whole(source->documents(), cfg.split, cfg.held_out_fraction, scope.path);

  SkipLog skips(cfg.on_error, scope.path + ".on_error");
  skips.add(source->skipped());
  LearnedDocuments learned(*tokenizer, dims.vocab_size);
  int64_t num_cut = 0, num_left_out = 0;
  const auto add = [&](const Prepared& one, const std::string& where) {
    if (!one.message.empty()) return skips.refuse(one.reason, where, one.message);
    if (!one.reason.empty()) return skips.skip(one.reason, where);
    if (const std::string problem = learned.problem_of(one.tokens, where); !problem.empty())
      return skips.refuse("with tokens that the model lacks", where, problem);
    learned.add(one.tokens, one.text, where);
    num_cut += one.is_cut;
    num_left_out += one.num_left_out;
  };
  const Preparer preparer(cfg, *tokenizer, chat);
  constexpr size_t kAtOnce = 512;
  for (size_t begin = 0; begin < documents.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, documents.size() - begin);
    std::vector<Prepared> prepared(count);
    parallel_for(static_cast<int64_t>(count), 4, [&](int64_t from, int64_t to) {
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
        prepared[i] = preparer.prepare(documents[begin + i]);
    });
    for (size_t i = 0; i < count; ++i) add(prepared[i], documents[begin + i].where);
    check_host_allocation(scope.path, "the tokens of conversations",
                          5 * learned.documents.num_tokens());
  }
  InputFacts facts = learned.facts(*source, skips.skipped());
  facts.num_cut = num_cut;
  facts.num_unwritten = num_left_out;
  take(learned, facts, PackedBatches::Options::of(cfg, dims.seed, Packing::kWhole),
       "conversations with answers of at most", scope.path);
}

AXLE_REGISTER(ChatInput)

}  // namespace axle
