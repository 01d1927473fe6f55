#include "data/chat/chat_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/parallel.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "config/register.h"
#include "data/text_input.h"
#include "data/tokenizers/byte_histogram.h"

namespace axle {
namespace {

constexpr int64_t kNoonOf26July2024 = 1721995200;

// A conversation as it goes into a row, or why it does not.
struct Prepared {
  LearnedTokens tokens = {};
  std::string text = {};
  bool is_cut = false;
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
    LearnedText text =
        learned_text(chat_, std::span(conversation.messages).first(count), conversation.tools,
                     cfg_.learned, {.now_secs = kNoonOf26July2024});
    Prepared out{.tokens = encode_learned(tokenizer_, text), .text = std::move(text.text)};
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

// The split, which must not have cut a conversation.
std::vector<Document> whole_split(const std::vector<Document>& documents,
                                  const ChatInput::Config& cfg, const Scope& scope) {
  std::set<std::pair<const char*, size_t>> whole;
  for (const Document& one : documents) whole.emplace(one.text.data(), one.text.size());
  std::vector<Document> out = select_split(documents, cfg.split, cfg.held_out_fraction);
  for (const Document& one : out) {
    if (whole.contains({one.text.data(), one.text.size()})) continue;
    throw DataError(fmt::format(
        "{}.held_out_fraction: expected enough conversations to hold out whole ones, got {} "
        "for a share of {}",
        scope.path, counted(std::ssize(documents), "conversation"), double{cfg.held_out_fraction}));
  }
  return out;
}

// Collects the tokens, and what the facts say of them.
class Collector {
 public:
  Collector(const Tokenizer& tokenizer, int64_t model_vocab_size, SkipLog& skips)
      : tokenizer_(tokenizer), model_vocab_size_(model_vocab_size), skips_(skips) {
    for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
      piece_sizes_.push_back(static_cast<double>(tokenizer.piece(static_cast<int32_t>(id)).size()));
  }

  void add(const Document& document, const Prepared& one) {
    if (!one.message.empty()) return skips_.refuse(one.reason, document.where, one.message);
    if (!one.reason.empty()) return skips_.skip(one.reason, document.where);
    for (const int32_t id : one.tokens.ids) {
      if (id >= model_vocab_size_)
        return skips_.refuse("with tokens that the model lacks", document.where,
                             lacks(id, document));
    }
    documents.add_learned(one.tokens.ids, one.tokens.is_learned);
    wheres.push_back(document.where);
    num_cut += one.is_cut;
    bytes.add(one.text);
    text_size_ += static_cast<double>(one.text.size());
    for (const int32_t id : one.tokens.ids) {
      const double size = piece_sizes_[static_cast<size_t>(id)];
      pieces_size_ += size;
      // The names of special tokens are no text.
      if (size == 0) text_size_ -= static_cast<double>(tokenizer_.token(id).size());
    }
  }

  // Average bytes of text for each id: pieces differ from the text where it is normalized.
  std::vector<double> text_bytes() const {
    std::vector<double> out = piece_sizes_;
    const double scale = pieces_size_ > 0 ? std::max(text_size_, 0.0) / pieces_size_ : 0;
    for (double& size : out) size *= scale;
    return out;
  }

  TokenizedDocuments documents;
  std::vector<std::string> wheres;
  ByteHistogram bytes;
  int64_t num_cut = 0;

 private:
  std::string lacks(int32_t id, const Document& document) const {
    return fmt::format("{}: expected tokens of the model's vocabulary of {}, got '{}' with id {}",
                       document.where, model_vocab_size_, tokenizer_.token(id), id);
  }

  const Tokenizer& tokenizer_;
  int64_t model_vocab_size_;
  SkipLog& skips_;
  std::vector<double> piece_sizes_;
  double text_size_ = 0, pieces_size_ = 0;
};

}  // namespace

ChatInput::ChatInput(const Config& cfg, const Dims& dims, const Scope& scope) {
  check_batch_size(cfg.batch_size, cfg.seq_len, scope);
  const auto tokenizer = cfg.tokenizer.build({}, {.path = scope.path + ".tokenizer"});
  check_vocabulary(*tokenizer, dims.vocab_size, scope.path);
  auto own = find_chat_template(*tokenizer, cfg.chat_template, scope.path + ".chat_template");
  const ChatTemplate chat = own ? std::move(*own) : plain_chat_template(*tokenizer);
  const auto source = cfg.source.build({}, {.path = scope.path + ".source"});
  const std::vector<Document> documents = whole_split(source->documents(), cfg, scope);

  SkipLog skips(cfg.on_error, scope.path + ".on_error");
  skips.add(source->skipped());
  Collector collector(*tokenizer, dims.vocab_size, skips);
  const Preparer preparer(cfg, *tokenizer, chat);
  constexpr size_t kAtOnce = 512;
  for (size_t begin = 0; begin < documents.size(); begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, documents.size() - begin);
    std::vector<Prepared> prepared(count);
    parallel_for(static_cast<int64_t>(count), 4, [&](int64_t from, int64_t to) {
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i)
        prepared[i] = preparer.prepare(documents[begin + i]);
    });
    for (size_t i = 0; i < count; ++i) collector.add(documents[begin + i], prepared[i]);
    check_host_allocation(scope.path, "the tokens of conversations",
                          5 * collector.documents.num_tokens());
  }
  facts_ = {.num_files = source->num_files(),
            .num_documents = collector.documents.num_documents(),
            .num_bytes = collector.bytes.num_bytes(),
            .num_tokens = collector.documents.num_tokens(),
            .endless = !cfg.epochs,
            .byte_entropy_bits = collector.bytes.entropy_bits(),
            .num_cut = collector.num_cut,
            .skipped = skips.skipped()};
  if (collector.documents.num_documents() == 0) {
    throw DataError(
        fmt::format("{}.source: expected conversations with answers of at most {}, got "
                    "none; {}",
                    scope.path, counted(cfg.seq_len.get(), "position"), to_text(skips.skipped())));
  }
  wheres_ = std::move(collector.wheres);
  std::vector<double> text_bytes = collector.text_bytes();
  batches_ = std::make_unique<PackedBatches>(PackedBatches::Options{.seq_len = cfg.seq_len,
                                                                    .batch_size = cfg.batch_size,
                                                                    .shuffle = cfg.shuffle,
                                                                    .epochs = cfg.epochs,
                                                                    .seed = dims.seed,
                                                                    .packing = Packing::kWhole},
                                             std::move(collector.documents), std::move(text_bytes),
                                             tokenizer->fingerprint());
  facts_.num_rows = batches_->num_rows();
  facts_.num_batches = batches_->num_batches();
}

AXLE_REGISTER(ChatInput)

}  // namespace axle
