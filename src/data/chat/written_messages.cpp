#include "data/chat/written_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {
namespace {

using jinja::find_text_key;
using jinja::Value;

constexpr std::array<std::string_view, 2> kCalls = {"tool_calls", "function_call"};

const Value* text_of_part(const Value& part) {
  const Value* const text = part.is_dict() ? find_text_key(part.dict(), "text") : nullptr;
  return text && text->is_text() ? text : nullptr;
}

std::string type_of_part(const Value& part) {
  const Value* const type = part.is_dict() ? find_text_key(part.dict(), "type") : nullptr;
  return type && type->is_text() ? type->text() : std::string();
}

class Writer {
 public:
  Writer(const ChatTemplate& chat, const Value& tools, const ChatTemplate::Options& options)
      : chat_(chat), tools_(tools), options_(options) {}

  std::vector<Value> write(std::span<const Value> given) const {
    std::vector<Value> out(given.begin(), given.end());
    for (Value& message : out) join_parts(message);
    fill_contents(out);
    check_calls(out);
    return out;
  }

 private:
  void join_parts(Value& message) const {
    const Value* const content = find_text_key(message.dict(), "content");
    if (!content || !content->is_list()) return;
    std::string text;
    for (const Value& part : content->list().elements) {
      check_part(part);
      if (const Value* const one = text_of_part(part)) text += one->text();
    }
    if (!chat_.reads_parts()) message = with_content(message, text);
  }

  void check_part(const Value& part) const {
    static constexpr std::array<std::string_view, 3> kMedia = {"image", "audio", "video"};
    const std::string type = type_of_part(part);
    const bool is_text = text_of_part(part) != nullptr;
    const bool is_medium = std::ranges::any_of(
        kMedia, [&](std::string_view medium) { return type.find(medium) != type.npos; });
    if (!is_medium && (is_text || chat_.reads_parts())) return;
    throw DataError(
        fmt::format("{}: expected contents of text, got a part {}", chat_.name(),
                    type.empty() ? "without a text" : "of the type '" + printable(type, 30) + "'"));
  }

  // Some templates ask for a null where a call has no content, others for a text.
  void fill_contents(std::vector<Value>& messages) const {
    std::vector<Value> filled = messages;
    bool has_gaps = false;
    for (Value& message : filled) {
      const Value* const content = find_text_key(message.dict(), "content");
      if (content && !content->is_none()) continue;
      message = with_content(message, "");
      has_gaps = true;
    }
    if (!has_gaps) return;
    try {
      const std::string as_given = chat_.render(messages, tools_, options_).text;
      const auto other = try_render(filled);
      if (!other || num_nones(as_given) <= num_nones(other->text)) return;
    } catch (const jinja::TemplateRefusal&) {
      return;
    } catch (const DataError&) {
      // The template fails on a null; whoever renders the other form hears what else is wrong.
    }
    messages = std::move(filled);
  }

  void check_calls(const std::vector<Value>& messages) const {
    std::vector<Value> others = messages;
    bool has_calls = false;
    for (Value& message : others) {
      auto items = message.dict().items;
      const auto num_calls = std::erase_if(
          items, [](const auto& item) { return is_one_of(item.first) && !is_empty(item.second); });
      if (num_calls == 0) continue;
      message = Value::dict(std::move(items));
      has_calls = true;
    }
    if (!has_calls) return;
    const auto written = try_render(messages);
    if (!written) return;
    const auto without = try_render(others);
    if (!without || without->text != written->text) return;
    throw DataError(fmt::format(
        "{}: expected a template that writes the calls of tools in this conversation, got one that "
        "drops them",
        chat_.name()));
  }

  static bool is_one_of(const Value& key) {
    return key.is_text() && std::ranges::count(kCalls, key.text()) > 0;
  }

  static bool is_empty(const Value& calls) {
    return calls.is_none() || (calls.is_list() && calls.list().elements.empty());
  }

  static int64_t num_nones(std::string_view text) {
    int64_t out = 0;
    for (size_t at = 0; (at = text.find("None", at)) != text.npos; at += 4) ++out;
    return out;
  }

  std::optional<jinja::Rendering> try_render(const std::vector<Value>& messages) const {
    return chat_.try_render(messages, tools_, options_);
  }

  const ChatTemplate& chat_;
  const Value& tools_;
  const ChatTemplate::Options& options_;
};

}  // namespace

std::vector<jinja::Value> written_messages(const ChatTemplate& chat,
                                           std::span<const jinja::Value> messages,
                                           const jinja::Value& tools,
                                           const ChatTemplate::Options& options) {
  return Writer(chat, tools, options).write(messages);
}

}  // namespace axle
