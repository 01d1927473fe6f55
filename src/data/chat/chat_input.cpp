#include "data/chat/chat_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/host_memory.h"
#include "config/carry.h"
#include "config/register.h"
#include "data/chat/build_chat_file.h"
#include "data/chat/chat_template.h"
#include "data/chat/prepared_rows.h"
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

}  // namespace axle
