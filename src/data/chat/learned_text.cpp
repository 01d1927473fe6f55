#include "data/chat/learned_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "data/chat/written_messages.h"
#include "data/text_source.h"
#include "data/token_files/corpus_reader.h"

namespace axle {
namespace {

using Messages = std::span<const jinja::Value>;

bool is_answer(const jinja::Value& message) { return role_of(message) == "assistant"; }

int64_t num_unwritten(Messages messages, const std::vector<MessageSpan>& spans) {
  std::vector<bool> is_written(messages.size());
  for (const MessageSpan& span : spans) {
    if (span.message == kUnknownMessage) return 0;
    if (span.end > span.begin) is_written[span.message] = true;
  }
  int64_t out = 0;
  for (size_t i = 0; i < messages.size(); ++i) out += is_answer(messages[i]) && !is_written[i];
  return out;
}

// An answer of which only what ends it is learned.
bool is_empty_answer(const jinja::Value& message) {
  return is_answer(message) && !is_unlearned(message) && says_nothing(message);
}

// The text of a message; of a list of parts, the first text.
std::string_view text_in(const jinja::Value& message) {
  const jinja::Value* const content = jinja::find_text_key(message.dict(), "content");
  if (!content || !content->is_list()) return content_of(message);
  for (const jinja::Value& part : content->list().elements) {
    const jinja::Value* const text = text_of_part(part);
    if (text && !trim(text->text()).empty()) return text->text();
  }
  return {};
}

// Finds the texts of messages in what a template wrote. Most come in the order of the messages, so
// each is looked for behind the one before it first: long texts are read about once.
class SaidFinder {
 public:
  explicit SaidFinder(const std::string& text) : text_(text) {}

  bool find(std::string_view said) {
    if (found_.contains(said)) return true;
    size_t at = text_.find(said, from_);
    if (at == text_.npos && from_ > 0) at = text_.find(said);
    if (at == text_.npos) return false;
    from_ = at + said.size();
    found_.insert(said);
    return true;
  }

 private:
  const std::string& text_;
  size_t from_ = 0;
  std::unordered_set<std::string_view> found_;  // often the same, such as "yes"
};

// Messages that are no answers and without whose text the template writes the same. Those that are
// not found in its text are left out on trial, as far as they are few.
int64_t num_others_unwritten(const ChatTemplate& chat, Messages messages, const jinja::Value& tools,
                             const ChatTemplate::Options& options, const std::string& text) {
  constexpr int kMostTrials = 32;
  SaidFinder finder(text);
  int num_trials = 0;
  int64_t out = 0;
  for (size_t i = 0; i < messages.size() && num_trials < kMostTrials; ++i) {
    const std::string_view said = trim(text_in(messages[i]));
    if (is_answer(messages[i]) || said.empty()) continue;
    // A system's text may stand in a question, too.
    if (role_of(messages[i]) != "system" && finder.find(said)) continue;
    ++num_trials;
    out += leaves_out(chat, messages, i, tools, options, text);
  }
  return out;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The bytes at the beginning of `rest` that the id stands for; none if it does not stand there.
std::optional<size_t> size_at(const Tokenizer& tokenizer, int32_t id, std::string_view rest) {
  std::string_view piece = tokenizer.piece(id);
  const std::string name = piece.empty() ? tokenizer.token(id) : std::string();
  if (piece.empty()) piece = name;
  if (rest.starts_with(piece)) return piece.size();
  // A space that the tokenizer itself puts before a text.
  if (!piece.starts_with(' ') || tokenizer.leading_space(id) == LeadingSpace::kKeep)
    return std::nullopt;
  piece.remove_prefix(1);
  return rest.starts_with(piece) ? std::optional(piece.size()) : std::nullopt;
}

// The offsets of the ids in the text; none if their pieces do not add up to it. Spaces may be left
// out: special tokens that strip take those beside them, as Phi-3's do.
std::optional<std::vector<size_t>> positions_of(const Tokenizer& tokenizer,
                                                std::span<const int32_t> ids,
                                                std::string_view text) {
  std::vector<size_t> positions;
  size_t at = 0, first_empty = 0;  // ids without bytes, for a space that is not in the text
  for (const int32_t id : ids) {
    std::optional<size_t> size;
    while (!(size = size_at(tokenizer, id, text.substr(at)))) {
      if (at == text.size() || !is_space(text[at])) return std::nullopt;
      ++at;
    }
    positions.push_back(at);
    at += *size;
    if (*size == 0) continue;
    // They stand before what comes next, behind the spaces that were left out.
    std::fill(positions.begin() + static_cast<ptrdiff_t>(first_empty), positions.end(),
              positions.back());
    first_empty = positions.size();
  }
  if (!std::ranges::all_of(text.substr(at), is_space)) return std::nullopt;
  return positions;
}

// The parts of the text one by one. Their ids may be others than the whole text's.
LearnedTokens encode_parts(const Tokenizer& tokenizer, const LearnedText& text) {
  LearnedTokens out;
  size_t at = 0;
  const auto add = [&](size_t end, bool is_learned) {
    const auto ids =
        tokenizer.encode_with_special(std::string_view(text.text).substr(at, end - at));
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
    out.is_learned.resize(out.ids.size(), is_learned);
    at = end;
  };
  for (const auto& [begin, end, message] : text.learned) {
    add(begin, false);
    add(end, true);
  }
  add(text.text.size(), false);
  return out;
}

// How many ids of each sequence are passed over until both go on alike, for at least two ids.
std::pair<size_t, size_t> difference(std::span<const int32_t> a, std::span<const int32_t> b) {
  constexpr size_t kMost = 64;
  const auto is_alike = [&](size_t i, size_t j) {
    if (i >= a.size() || j >= b.size()) return i >= a.size() && j >= b.size();
    if (a[i] != b[j]) return false;
    return i + 1 >= a.size() || j + 1 >= b.size() || a[i + 1] == b[j + 1];
  };
  for (size_t sum = 0; sum <= kMost; ++sum) {
    for (size_t i = 0; i <= sum; ++i) {
      if (is_alike(i, sum - i)) return {i, sum - i};
    }
  }
  return {1, 1};
}

// The flags of the parts' ids for the same text encoded as a whole. Ids that differ, at the border
// of a part, get the flag of the part's id there.
std::vector<uint8_t> flags_along(const LearnedTokens& parts, std::span<const int32_t> ids) {
  std::vector<uint8_t> out;
  if (parts.ids.empty()) return std::vector<uint8_t>(ids.size());
  for (size_t at = 0; out.size() < ids.size();) {
    const auto [of_parts, of_whole] =
        difference(std::span(parts.ids).subspan(at), ids.subspan(out.size()));
    const size_t last = std::min(at, parts.is_learned.size() - 1);
    out.resize(out.size() + of_whole, parts.is_learned[last]);
    at += of_parts;
    if (out.size() >= ids.size() || at >= parts.ids.size()) continue;
    if (parts.ids[at] == ids[out.size()]) out.push_back(parts.is_learned[at++]);
  }
  return out;
}

}  // namespace

LearnedText learned_text(const ChatTemplate& chat, Messages given, const jinja::Value& tools,
                         Learned learned, const ChatTemplate::Options& options) {
  auto [messages, rendering] = written_messages(chat, given, tools, options);
  Remarks remarks;
  for (const jinja::Value& message : messages) remarks[Remark::kEmpty] += is_empty_answer(message);
  remarks[Remark::kUnwrittenOther] =
      num_others_unwritten(chat, messages, tools, options, rendering.text);
  if (learned == Learned::kAll) {
    const size_t size = rendering.text.size();
    return {std::move(rendering.text), {{0, size, kUnknownMessage}}, remarks};
  }
  if (rendering.has_lost_generation) {
    throw DataError(fmt::format(
        "{}: expected generation blocks in the template itself, got one in a macro or another body "
        "whose place in the text is not known",
        chat.name()));
  }
  const RenderedChat rendered{chat, messages, tools, options, rendering};
  std::vector<MessageSpan> spans =
      chat.marks_generation() ? generation_spans(rendered) : answer_spans(rendered);
  remarks[Remark::kUnwritten] = num_unwritten(messages, spans);
  remove_unlearned(rendered, spans);
  return {std::move(rendering.text), std::move(spans), remarks};
}

bool LearnedTokens::has_learned() const {
  // The first token is no target.
  return std::ranges::any_of(is_learned.begin() + (is_learned.empty() ? 0 : 1), is_learned.end(),
                             [](uint8_t flag) { return flag != 0; });
}

LearnedTokens encode_learned(const Tokenizer& tokenizer, const LearnedText& text) {
  LearnedTokens out{.ids = tokenizer.encode_with_special(text.text)};
  const auto positions = positions_of(tokenizer, out.ids, text.text);
  if (!positions) {
    out.is_learned = flags_along(encode_parts(tokenizer, text), out.ids);
    return out;
  }
  auto span = text.learned.begin();
  for (const size_t position : *positions) {
    while (span != text.learned.end() && span->end <= position) ++span;
    out.is_learned.push_back(span != text.learned.end() && span->begin <= position);
  }
  return out;
}

TextOfIds::TextOfIds(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    piece_sizes_.push_back(std::ssize(tokenizer.piece(static_cast<int32_t>(id))));
}

TextOfIds::Sizes TextOfIds::sizes_of(std::span<const int32_t> ids, std::string_view text) const {
  Sizes out{.text_bytes = std::ssize(text)};
  for (const int32_t id : ids) {
    const int64_t size = piece_sizes_[id];
    out.piece_bytes += size;
    // The names of special tokens are no text.
    if (size == 0) out.text_bytes -= std::ssize(tokenizer_.token(id));
  }
  return out;
}

void TextOfIds::add(std::span<const int32_t> ids, std::string_view text) {
  const Sizes sizes = sizes_of(ids, text);
  text_bytes_ += sizes.text_bytes;
  piece_bytes_ += sizes.piece_bytes;
}

std::vector<double> TextOfIds::bytes_of_ids() const {
  const double scale =
      piece_bytes_ > 0 ? static_cast<double>(text_bytes()) / static_cast<double>(piece_bytes_) : 0;
  std::vector<double> out;
  for (const int64_t size : piece_sizes_) out.push_back(scale * static_cast<double>(size));
  return out;
}

std::string problem_of_ids(std::span<const int32_t> ids, const std::string& where,
                           const Tokenizer& tokenizer, std::string_view name, int64_t vocab_size) {
  for (const int32_t id : ids) {
    if (id < vocab_size) continue;
    return fmt::format(
        "{}: expected tokens of the model's vocabulary of {}, got '{}' with id {} of {}", where,
        vocab_size, printable(tokenizer.token(id)), id, name);
  }
  return {};
}

LearnedDocuments::LearnedDocuments(const Tokenizer& tokenizer, std::string name,
                                   int64_t model_vocab_size)
    : tokenizer_(tokenizer),
      name_(std::move(name)),
      model_vocab_size_(model_vocab_size),
      text_of_ids_(tokenizer) {}

std::string LearnedDocuments::problem_of(const LearnedTokens& tokens,
                                         const std::string& where) const {
  return problem_of_ids(tokens.ids, where, tokenizer_, name_, model_vocab_size_);
}

void LearnedDocuments::add(const LearnedTokens& tokens, std::string_view text, std::string where) {
  documents.add_learned(tokens.ids, tokens.is_learned);
  wheres.push_back(std::move(where));
  bytes.add(text);
  text_of_ids_.add(tokens.ids, text);
}

InputFacts LearnedDocuments::facts(const Source& source, const Skipped& skipped) const {
  return {.num_files = source.num_files(),
          .num_documents = documents.num_documents(),
          .num_bytes = bytes.num_bytes(),
          .num_tokens = documents.num_tokens(),
          .byte_entropy_bits = bytes.entropy_bits(),
          .skipped = skipped};
}

std::unique_ptr<PackedBatches> LearnedDocuments::take_batches(
    const PackedBatches::Options& options) {
  std::vector<double> sizes = text_of_ids_.bytes_of_ids();
  return std::make_unique<PackedBatches>(options, std::move(documents), std::move(sizes),
                                         tokenizer_.fingerprint());
}

namespace {

int64_t longest_of(const TokenizedDocuments& documents, Packing packing) {
  const int64_t in_row = packing == Packing::kPairs ? 2 : 1;
  int64_t out = 0, length = 0;
  for (int64_t i = 0; i < documents.num_documents(); ++i) {
    if (i % in_row == 0) length = 0;
    length += std::max<int64_t>(std::ssize(documents.document(i)) - 1, 0);
    out = std::max(out, length);
  }
  return out;
}

}  // namespace

void LearnedInput::check_source(const Child<Source>& source, const std::string& path) {
  if (!source.get_if<TextSource>() && !source.get_if<CorpusSource>()) return;
  throw ConfigError(fmt::format(
      "{}.source: expected a ChatSource, got {}; set {}.source=ChatSource, or for texts "
      "{}=TextInput, before --data",
      path, source.any().type().name, path, path));
}

void LearnedInput::take(LearnedDocuments& learned, const InputFacts& facts,
                        const PackedBatches::Options& options, std::string_view what,
                        const std::string& path) {
  facts_ = facts;
  facts_.endless = !options.epochs;
  if (facts_.num_documents == 0) {
    throw DataError(fmt::format("{}.source: expected {} {}, got none; {}", path, what,
                                counted(options.seq_len, "position"), to_text(facts_.skipped)));
  }
  facts_.longest = longest_of(learned.documents, options.packing);
  wheres_ = std::move(learned.wheres);
  batches_ = learned.take_batches(options);
  facts_.num_rows = batches_->num_rows();
  facts_.num_batches = batches_->num_batches();
}

}  // namespace axle
