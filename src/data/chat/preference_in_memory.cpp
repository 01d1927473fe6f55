#include "data/chat/preference_in_memory.h"

#include "base/host_memory_check.h"
#include "data/chat/prepared_pair.h"
#include "data/chat/template_facts.h"
#include "data/held_out.h"
#include "data/text_input.h"
#include "data/tokenizers/open_tokenizer.h"

namespace axle {

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

}  // namespace axle
