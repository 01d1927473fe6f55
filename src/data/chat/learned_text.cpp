#include "data/chat/learned_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "data/chat/written_messages.h"

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

LearnedText learned_text(const ChatTemplate& chat, Messages given, const jinja::Value& tools,
                         Learned learned, const ChatTemplate::Options& options) {
  const std::vector<jinja::Value> messages = written_messages(chat, given, tools, options);
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
