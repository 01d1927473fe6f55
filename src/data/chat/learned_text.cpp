#include "data/chat/learned_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

using Messages = std::span<const jinja::Value>;

class TurnFinder {
 public:
  TurnFinder(const ChatTemplate& chat, Messages messages, const jinja::Value& tools,
             const ChatTemplate::Options& options)
      : chat_(chat), messages_(messages), tools_(tools), options_(options) {}

  LearnedText find() {
    LearnedText out{.text = render(messages_.size(), false)};
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (role_of(messages_[i]) != "assistant") continue;
      const size_t begin = size_before(i, out.text);
      const std::string after = i + 1 == messages_.size() ? out.text : render(i + 1, false);
      if (!out.text.starts_with(after) || after.size() < begin) fail(i + 1);
      const size_t end = without_space_behind_mark(out.text, {begin, after.size()}, messages_[i]);
      if (end > begin) out.learned.push_back({begin, end});
    }
    return out;
  }

 private:
  std::string render(size_t count, bool add_generation_prompt) const {
    ChatTemplate::Options options = options_;
    options.add_generation_prompt = add_generation_prompt;
    return chat_.render(messages_.first(count), tools_, options).text;
  }

  // The bytes of `text` before the answer that is message i.
  size_t size_before(size_t i, std::string_view text) const {
    for (const bool with_prompt : {true, false}) {
      const std::string before = render(i, with_prompt);
      if (text.starts_with(before)) return before.size();
    }
    fail(i);
  }

  [[noreturn]] void fail(size_t count) const {
    throw DataError(
        fmt::format("{}: expected a template that writes the first {} of {} messages as it writes "
                    "them alone, got another text; a template with generation blocks says by "
                    "itself what is learned",
                    chat_.name(), count, messages_.size()));
  }

  // A line end behind the mark that ends a turn is not the assistant's. Without a mark, it is what
  // ends the turn.
  static size_t without_space_behind_mark(std::string_view text, jinja::Span span,
                                          const jinja::Value& message) {
    std::string_view said = text.substr(span.begin, span.end - span.begin);
    const size_t last = said.find_last_not_of(" \t\r\n");
    if (last == said.npos) return span.end;
    said = said.substr(0, last + 1);
    const std::string_view content = trim(content_of(message));
    const bool has_mark = content.empty() || !said.ends_with(content);
    return has_mark ? span.begin + said.size() : span.end;
  }

  const ChatTemplate& chat_;
  Messages messages_;
  const jinja::Value& tools_;
  const ChatTemplate::Options& options_;
};

// The places of the ids in the text; none if their pieces do not add up to it.
std::optional<std::vector<size_t>> places_of(const Tokenizer& tokenizer,
                                             std::span<const int32_t> ids, std::string_view text) {
  std::vector<size_t> places;
  size_t at = 0;
  for (const int32_t id : ids) {
    places.push_back(at);
    const std::string_view rest = text.substr(at);
    std::string_view piece = tokenizer.piece(id);
    const std::string name = piece.empty() ? tokenizer.token(id) : std::string();
    if (piece.empty()) piece = name;
    // A space that the tokenizer itself puts before a text.
    if (!rest.starts_with(piece) && piece.starts_with(' ') &&
        tokenizer.leading_space(id) != LeadingSpace::kKeep)
      piece.remove_prefix(1);
    if (!rest.starts_with(piece)) return std::nullopt;
    at += piece.size();
  }
  if (at != text.size()) return std::nullopt;
  return places;
}

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
  for (const auto& [begin, end] : text.learned) {
    add(begin, false);
    add(end, true);
  }
  add(text.text.size(), false);
  return out;
}

}  // namespace

LearnedText learned_text(const ChatTemplate& chat, Messages messages, const jinja::Value& tools,
                         Learned learned, const ChatTemplate::Options& options) {
  if (learned == Learned::kAssistant && !chat.marks_generation())
    return TurnFinder(chat, messages, tools, options).find();
  jinja::Rendering rendering = chat.render(messages, tools, options);
  if (learned == Learned::kAll) {
    const size_t size = rendering.text.size();
    return {std::move(rendering.text), {{0, size}}};
  }
  if (rendering.has_lost_generation) {
    throw DataError(fmt::format(
        "{}: expected generation blocks in the template itself, got one in a macro or another body "
        "whose place in the text is not known",
        chat.name()));
  }
  return {std::move(rendering.text), std::move(rendering.generations)};
}

bool LearnedTokens::has_learned() const {
  // The first token is no target.
  return std::ranges::any_of(is_learned.begin() + (is_learned.empty() ? 0 : 1), is_learned.end(),
                             [](uint8_t flag) { return flag != 0; });
}

LearnedTokens encode_learned(const Tokenizer& tokenizer, const LearnedText& text) {
  LearnedTokens out{.ids = tokenizer.encode_with_special(text.text)};
  const auto places = places_of(tokenizer, out.ids, text.text);
  if (!places) return encode_parts(tokenizer, text);
  auto span = text.learned.begin();
  for (const size_t place : *places) {
    while (span != text.learned.end() && span->end <= place) ++span;
    out.is_learned.push_back(span != text.learned.end() && span->begin <= place);
  }
  return out;
}

}  // namespace axle
