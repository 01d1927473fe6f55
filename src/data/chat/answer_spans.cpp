#include "data/chat/answer_spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {
namespace {

// Returns the token that the tail begins with, if the template means it as one. An added token that
// is no special one may also be a word of answers: it counts only with nothing but tokens with it.
std::optional<int32_t> first_token(std::string_view tail, const Tokenizer& tokenizer) {
  const auto is_special = [&](int32_t id) { return tokenizer.piece(id).empty(); };
  const std::vector<int32_t> ids = tokenizer.encode_with_special(tail);
  if (ids.empty()) return std::nullopt;
  if (is_special(ids.front())) return ids.front();
  const std::vector<int32_t> added = tokenizer.added_ids();
  const std::string_view word = tail.substr(0, tail.find_first_of(" \t\r\n"));
  const std::vector<int32_t> of_word = tokenizer.encode_with_special(word);
  const bool is_all_added = std::ranges::all_of(
      of_word, [&](int32_t id) { return std::ranges::binary_search(added, id); });
  return is_all_added && !of_word.empty() ? std::optional(of_word.front()) : std::nullopt;
}

}  // namespace

AnswerEnd answer_end(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  constexpr std::string_view kAnswer = "9b1e7c45";  // no template has it
  const jinja::Value messages[] = {message_of("user", "?"), message_of("assistant", kAnswer)};
  const auto rendered = chat.try_render(messages, {}, {});
  if (!rendered) return {};
  const std::string& text = rendered->text;
  const size_t at = text.rfind(kAnswer);
  if (at == text.npos) return {};
  const std::string_view tail = trim(std::string_view(text).substr(at + kAnswer.size()));
  if (tail.empty()) return {};
  if (const auto token = first_token(tail, tokenizer)) return {.tokens = {*token}};
  return {.texts = {std::string(tail)}};
}

namespace {

using jinja::Span;
constexpr std::string_view kSpaces = " \t\r\n";

size_t shared_begin(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

size_t shared_end(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(in_a - a.rbegin());
}

// Answers of a long conversation whose openings are looked up: the first and the last ones. The
// others open as these do, if that is what the text says.
constexpr size_t kLookedUp = 4;
// Messages that may be rendered to look up the answers of one conversation: a second or two. Those
// answers that are looked up of any take at most 5 times all messages each.
constexpr size_t kMostRendered = size_t{1} << 20;
constexpr size_t kMostTimes = 5 * 2 * kLookedUp;

// Removes `hole` from the parts.
void cut_out(std::vector<Span>& parts, Span hole) {
  std::vector<Span> out;
  for (const Span& part : parts) {
    const Span before{part.begin, std::min(part.end, hole.begin)};
    const Span behind{std::max(part.begin, hole.end), part.end};
    if (before.end > before.begin) out.push_back(before);
    if (behind.end > behind.begin) out.push_back(behind);
  }
  parts = std::move(out);
}

// What the rounds of loops wrote for the messages: what a round inside of another wrote for its own
// message is not of the other.
std::vector<MessageSpan> round_spans(std::span<const jinja::Value> messages,
                                     const jinja::Rendering& rendering) {
  std::unordered_map<const jinja::Dict*, size_t> numbers;
  for (size_t i = 0; i < messages.size(); ++i) numbers.emplace(&messages[i].dict(), i);
  std::vector<MessageSpan> out;
  for (const jinja::Round& round : rendering.rounds) {
    const auto at = numbers.find(&round.element.dict());
    if (at == numbers.end()) continue;
    const size_t message = at->second;
    std::vector<Span> parts = {round.span};
    // Rounds inside of this one have ended before it.
    for (auto inner = out.rbegin(); inner != out.rend() && inner->end > round.span.begin; ++inner)
      cut_out(parts, {inner->begin, inner->end});
    for (const Span& part : parts) out.push_back({part.begin, part.end, message});
  }
  return out;
}

class AnswerFinder {
 public:
  explicit AnswerFinder(const RenderedChat& rendered)
      : rendered_(rendered),
        text_(rendered.rendering.text),
        rounds_(round_spans(rendered.messages, rendered.rendering)) {
    for (int i = 0; mark_.empty() || text_.find(mark_) != text_.npos; ++i)
      mark_ = fmt::format("AxleMark{}x", i);
  }

  std::vector<MessageSpan> find() {
    std::vector<std::vector<MessageSpan>> rounds(rendered_.messages.size());
    for (const MessageSpan& round : rounds_) rounds[round.message].push_back(round);
    std::vector<MessageSpan> out, firsts;
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (is_answer(i) && !rounds[i].empty()) firsts.push_back(rounds[i].front());
    }
    const std::vector<size_t> sizes = sizes_of_openings(firsts);
    auto size = sizes.begin();
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (!is_answer(i)) continue;
      std::vector<MessageSpan>& spans = rounds[i];
      if (!spans.empty())
        spans.front().begin += *size++;
      else if (const auto span = span_by_mark(i))
        spans.push_back(*span);
      if (spans.empty()) continue;
      spans.back().end = end_of_turn(spans.back());
      out.insert(out.end(), spans.begin(), spans.end());
    }
    std::erase_if(out, [](const MessageSpan& span) { return span.end <= span.begin; });
    std::ranges::sort(out, {}, &MessageSpan::begin);
    return out;
  }

 private:
  using Messages = std::vector<jinja::Value>;

  bool is_answer(size_t i) const { return role_of(rendered_.messages[i]) == "assistant"; }

  // None if the template refuses the messages.
  std::optional<jinja::Rendering> render(const Messages& messages, bool add_prompt) const {
    num_rendered_ += messages.size();
    const size_t num_messages = rendered_.messages.size();
    if (num_rendered_ > std::max(kMostRendered, kMostTimes * num_messages)) {
      throw DataError(fmt::format(
          "{}: expected a template that tells where the answers of a long conversation are, got "
          "one that must be rendered for each of {}; mark them by generation blocks, or split the "
          "conversation",
          rendered_.chat.name(), counted(static_cast<int64_t>(num_messages), "message")));
    }
    ChatTemplate::Options options = rendered_.options;
    options.add_generation_prompt = add_prompt;
    return rendered_.chat.try_render(messages, rendered_.tools, options);
  }

  Messages first(size_t count) const {
    return {rendered_.messages.begin(), rendered_.messages.begin() + static_cast<ptrdiff_t>(count)};
  }

  // Messages with a generation prompt behind them.
  struct Prompted {
    std::string text;
    size_t shared = 0;       // with the same messages without a prompt
    bool only_adds = false;  // the prompt replaces nothing, such as an end of the text
  };

  std::optional<Prompted> with_prompt(size_t count) const {
    const auto without = render(first(count), false), with = render(first(count), true);
    if (!without || !with) return std::nullopt;
    const size_t shared = shared_begin(with->text, without->text);
    return Prompted{with->text, shared, shared == without->text.size()};
  }

  // What stands before the content of an answer, and how much of it is in the answer.
  struct Opening {
    std::string text = {};
    size_t size = 0;
  };

  // How answers open, as far as it is alike.
  struct Openings {
    std::optional<std::string> text = {};
    bool are_alike = true;
    void add(const Opening& one) {
      are_alike &= one.size == one.text.size() && one.text == text.value_or(one.text);
      text = one.text;
    }
    bool open(std::string_view said) const { return text && are_alike && said.starts_with(*text); }
  };

  // The bytes at the beginning of each answer that a generation prompt writes.
  std::vector<size_t> sizes_of_openings(const std::vector<MessageSpan>& answers) const {
    std::vector<size_t> out(answers.size());
    Openings before_question, behind;  // templates may write thoughts behind the last one only
    const size_t question = last_question();
    const auto openings_of = [&](const MessageSpan& answer) -> Openings& {
      return answer.message < question ? before_question : behind;
    };
    const auto is_looked_up = [&](size_t k) {
      return k < kLookedUp || k + kLookedUp >= answers.size();
    };
    for (size_t k = 0; k < answers.size(); ++k) {
      if (!is_looked_up(k)) continue;
      const Opening opening = opening_of(answers[k]);
      out[k] = opening.size;
      // Before a first message, a system's text may stand.
      if (answers[k].message > 0) openings_of(answers[k]).add(opening);
    }
    for (size_t k = 0; k < answers.size(); ++k) {
      if (is_looked_up(k)) continue;
      const Openings& usual = openings_of(answers[k]);
      out[k] = usual.open(text_of(answers[k])) ? usual.text->size() : opening_of(answers[k]).size;
    }
    return out;
  }

  size_t last_question() const {
    const auto& all = rendered_.messages;
    const auto found = std::ranges::find(all.rbegin(), all.rend(), "user", role_of);
    return static_cast<size_t>(all.rend() - found);
  }

  // The prompt may go on where the answer does not, with the beginning of a thought.
  Opening opening_of(const MessageSpan& answer) const {
    if (answer.message == 0) return {.size = size_before_first(answer)};
    auto before = with_prompt(answer.message);
    if (!before) before = with_prompt(rendered_.messages.size());
    if (!before) return {};
    const std::string_view said = text_of(answer);
    const std::string_view all = before->text, prompt = all.substr(before->shared);
    if (before->only_adds && !prompt.empty() && said.starts_with(prompt))
      return {std::string(prompt), prompt.size()};
    // Contents may begin as prompts do, so only what stands before them counts.
    std::string beginning = beginning_of_turn(answer.message);
    size_t size = std::min(beginning.size(), all.size());
    while (!all.ends_with(std::string_view(beginning).substr(0, size))) --size;
    size = std::max(size, shared_begin(prompt, beginning));
    beginning.resize(size);
    const size_t shared = shared_begin(beginning, said);
    return {std::move(beginning), shared};
  }

  // The same of a first message. Templates write more before it, such as a system's text of their
  // own: a question before it shows what belongs to the answer.
  size_t size_before_first(const MessageSpan& answer) const {
    Messages asked = first(rendered_.messages.size());
    asked.insert(asked.begin(), message_of("user", "a"));
    const std::string beginning = beginning_of_turn(0);
    const std::string_view said = text_of(answer);
    if (const auto rendering =
            rendered_.chat.try_render(asked, rendered_.tools, rendered_.options)) {
      const RenderedChat chat{rendered_.chat, asked, rendered_.tools, rendered_.options,
                              *rendering};
      const AnswerFinder other(chat);
      const auto turn = std::ranges::find(other.rounds_, 1u, &MessageSpan::message);
      const std::string usual = other.beginning_of_turn(1);
      if (turn != other.rounds_.end() && beginning.ends_with(usual)) {
        const size_t more = shared_begin(
            std::string_view(beginning).substr(0, beginning.size() - usual.size()), said);
        const std::string_view prompt =
            other.text_of(*turn).substr(0, other.opening_of(*turn).size);
        return more + shared_begin(said.substr(more), prompt);
      }
    }
    const auto prompted = with_prompt(rendered_.messages.size());
    if (!prompted) return 0;
    const auto prompt = std::string_view(prompted->text).substr(prompted->shared);
    return shared_begin(end_of_prompt(prompt, beginning), said);
  }

  // What stands before a first answer, up to where the prompt in it ends, as far as it goes.
  static std::string_view end_of_prompt(std::string_view prompt, std::string_view beginning) {
    size_t best = 0, end = 0;
    for (size_t at = 0; at < beginning.size(); ++at) {
      const size_t size = shared_begin(prompt, beginning.substr(at));
      if (size < best || size == 0) continue;
      best = size;
      end = at + size;
    }
    return beginning.substr(0, end);
  }

  // What the template writes before the content of an answer at this index.
  std::string beginning_of_turn(size_t i) const {
    Messages messages = first(rendered_.messages.size());
    messages[i] = message_of("assistant", mark_);
    const auto marked = render(messages, false);
    if (!marked) return {};
    const size_t at = marked->text.find(mark_);
    for (const MessageSpan& round : round_spans(messages, *marked)) {
      if (round.message == i && round.begin <= at && at < round.end)
        return marked->text.substr(round.begin, at - round.begin);
    }
    return {};
  }

  std::optional<MessageSpan> span_by_mark(size_t i) const {
    Messages messages = first(rendered_.messages.size());
    messages[i] = with_content(rendered_.messages[i], mark_);
    const auto marked = render(messages, false);
    if (!marked) return std::nullopt;
    const size_t at = marked->text.find(mark_);
    if (at == marked->text.npos) return std::nullopt;
    const std::string_view before = std::string_view(marked->text).substr(0, at);
    const std::string_view behind = std::string_view(marked->text).substr(at + mark_.size());
    MessageSpan out{.begin = shared_begin(text_, before), .message = i};
    const std::string_view rest = std::string_view(text_).substr(out.begin);
    const size_t behind_size = shared_end(rest, behind);
    out.end = text_.size() - behind_size;
    messages.resize(i + 1);
    if (const auto alone = render(messages, false)) {
      const size_t end = alone->text.find(mark_);
      if (end != alone->text.npos)
        out.end += shared_begin(std::string_view(alone->text).substr(end + mark_.size()),
                                std::string_view(text_).substr(out.end));
    }
    return out;
  }

  // A line end behind the mark that ends a turn is not the assistant's. Without a mark, it is what
  // ends the turn; behind the last message it may be what ends the text.
  size_t end_of_turn(const MessageSpan& answer) const {
    const std::string_view said = text_of(answer);
    const size_t size = said.find_last_not_of(kSpaces) + 1;  // 0 if there are only spaces
    const std::string_view shown = said.substr(0, size);
    const size_t space = shown.find_last_of(kSpaces);
    const std::string_view last_word = space == shown.npos ? shown : shown.substr(space + 1);
    // The template may write less than the content, but its end.
    const jinja::Value& message = rendered_.messages[answer.message];
    if (size > 0 && !trim(content_of(message)).ends_with(last_word)) return answer.begin + size;
    return answer.message + 1 == rendered_.messages.size() ? text_.size() : answer.end;
  }

  std::string_view text_of(const MessageSpan& span) const {
    return std::string_view(text_).substr(span.begin, span.end - span.begin);
  }

  const RenderedChat& rendered_;
  const std::string& text_;
  std::vector<MessageSpan> rounds_;
  std::string mark_;
  mutable size_t num_rendered_ = 0;  // messages
};

}  // namespace

std::vector<MessageSpan> answer_spans(const RenderedChat& rendered) {
  return AnswerFinder(rendered).find();
}

void remove_unlearned(const RenderedChat& rendered, std::vector<MessageSpan>& spans) {
  if (std::ranges::none_of(rendered.messages, is_unlearned)) return;
  std::erase_if(spans, [&](const MessageSpan& span) {
    if (span.message != kUnknownMessage) return is_unlearned(rendered.messages[span.message]);
    throw DataError(fmt::format(
        "{}: expected one generation block for each answer, or blocks in a loop over messages, "
        "for a conversation with answers of the weight 0, got blocks of unknown answers",
        rendered.chat.name()));
  });
}

std::vector<MessageSpan> generation_spans(const RenderedChat& rendered) {
  std::vector<MessageSpan> rounds = round_spans(rendered.messages, rendered.rendering);
  // They do not overlap, so their ends have the order of their beginnings.
  std::ranges::sort(rounds, [](const MessageSpan& a, const MessageSpan& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<size_t> answers;
  for (size_t i = 0; i < rendered.messages.size(); ++i) {
    if (role_of(rendered.messages[i]) == "assistant") answers.push_back(i);
  }
  const std::vector<Span>& blocks = rendered.rendering.generations;
  std::vector<MessageSpan> out;
  for (const Span& block : blocks) {
    const auto round = std::ranges::lower_bound(rounds, block.end, {}, &MessageSpan::end);
    const bool is_in_round = round != rounds.end() && round->begin <= block.begin;
    const size_t message = is_in_round                       ? round->message
                           : blocks.size() == answers.size() ? answers[out.size()]
                                                             : kUnknownMessage;
    out.push_back({block.begin, block.end, message});
  }
  return out;
}

}  // namespace axle
