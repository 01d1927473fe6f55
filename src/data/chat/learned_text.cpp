#include "data/chat/learned_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace axle {
namespace {

using Messages = std::span<const jinja::Value>;

int64_t num_left_out(Messages messages, const std::vector<MessagePlace>& places) {
  int64_t out = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto is_here = [&](const MessagePlace& place) {
      return (place.message == i && place.end > place.begin) || place.message == kUnknownMessage;
    };
    out += role_of(messages[i]) == "assistant" && std::ranges::none_of(places, is_here);
  }
  return out;
}

// Returns the messages with other contents where `other_of` gives one; none if it gives none.
template <class F>
std::optional<std::vector<jinja::Value>> with_contents(Messages messages, const F& other_of) {
  std::vector<jinja::Value> out(messages.begin(), messages.end());
  bool has_other = false;
  for (jinja::Value& message : out) {
    const jinja::Value* const content = jinja::find_text_key(message.dict(), "content");
    const std::optional<jinja::Value> other = content ? other_of(*content) : std::nullopt;
    if (!other) continue;
    auto items = message.dict().items;
    for (auto& [key, value] : items) {
      if (key.is_text() && key.text() == "content") value = *other;
    }
    message = jinja::Value::dict(std::move(items));
    has_other = true;
  }
  if (!has_other) return std::nullopt;
  return out;
}

// A call without content: some templates ask for a null there, others for a text.
std::optional<jinja::Value> empty_text(const jinja::Value& content) {
  return content.is_none() ? std::optional(jinja::Value("")) : std::nullopt;
}

// The text of a list of parts that are all texts: {"type": "text", "text": "..."}.
std::optional<jinja::Value> text_of_parts(const jinja::Value& content) {
  if (!content.is_list()) return std::nullopt;
  std::string out;
  for (const jinja::Value& part : content.list().elements) {
    const auto* const text = part.is_dict() ? jinja::find_text_key(part.dict(), "text") : nullptr;
    if (!text || !text->is_text()) return std::nullopt;
    out += text->text();
  }
  return out;
}

// True if the template reads a list of parts as it reads their text. One that prints the content as
// it is would write Python's form of a list.
bool reads_parts(const ChatTemplate& chat, const ChatTemplate::Options& options) {
  const auto text_with = [&](jinja::Value content) -> std::optional<std::string> {
    const jinja::Value message =
        jinja::Value::dict({{"role", "user"}, {"content", std::move(content)}});
    try {
      return chat.render(std::span(&message, 1), jinja::Value(), options).text;
    } catch (const DataError&) {
      return std::nullopt;
    }
  };
  const jinja::Value part = jinja::Value::dict({{"type", "text"}, {"text", "a"}});
  const auto as_text = text_with("a");
  return !as_text || text_with(jinja::Value::list({part})) == as_text;
}

LearnedText learned_as_given(const ChatTemplate& chat, Messages messages, const jinja::Value& tools,
                             Learned learned, const ChatTemplate::Options& options) {
  jinja::Rendering rendering = chat.render(messages, tools, options);
  if (learned == Learned::kAll) {
    const size_t size = rendering.text.size();
    return {std::move(rendering.text), {{0, size, kUnknownMessage}}};
  }
  if (rendering.has_lost_generation) {
    throw DataError(fmt::format(
        "{}: expected generation blocks in the template itself, got one in a macro or another body "
        "whose place in the text is not known",
        chat.name()));
  }
  const RenderedChat rendered{chat, messages, tools, options, rendering};
  std::vector<MessagePlace> places =
      chat.marks_generation() ? generation_places(rendered) : answer_places(rendered);
  const int64_t left_out = num_left_out(messages, places);
  remove_unlearned(rendered, places);
  return {std::move(rendering.text), std::move(places), left_out};
}

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
  for (const auto& [begin, end, message] : text.learned) {
    add(begin, false);
    add(end, true);
  }
  add(text.text.size(), false);
  return out;
}

}  // namespace

LearnedText learned_text(const ChatTemplate& chat, Messages messages, const jinja::Value& tools,
                         Learned learned, const ChatTemplate::Options& options) {
  const auto texts = with_contents(messages, text_of_parts);
  if (texts && !reads_parts(chat, options)) messages = *texts;
  try {
    return learned_as_given(chat, messages, tools, learned, options);
  } catch (const jinja::TemplateRefusal&) {
    throw;
  } catch (const DataError& error) {
    if (std::string_view(error.what()).find("NoneType") == std::string_view::npos) throw;
    const auto others = with_contents(messages, empty_text);
    if (!others) throw;
    return learned_as_given(chat, *others, tools, learned, options);
  }
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
