#include "data/chat/chat_in_memory.h"

#include <algorithm>

#include "base/host_memory_check.h"
#include "data/chat/prepared_conversation.h"
#include "data/chat/template_facts.h"
#include "data/held_out.h"
#include "data/text_input.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {

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
  // The first mistakes are told soon, also where a conversation takes long.
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

}  // namespace axle
