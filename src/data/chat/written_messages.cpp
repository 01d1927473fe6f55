#include "data/chat/written_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using jinja::find_text_key;
using jinja::Value;

using Names = std::span<const std::string_view>;

std::string type_of_part(const Value& part) {
  const Value* const type = part.is_dict() ? find_text_key(part.dict(), "type") : nullptr;
  return type && type->is_text() ? type->text() : std::string();
}

class Writer {
 public:
  Writer(const ChatTemplate& chat, const Value& tools, const ChatTemplate::Options& options)
      : chat_(chat), tools_(tools), options_(options) {}

  WrittenMessages write(std::span<const Value> given) const {
    WrittenMessages out{{given.begin(), given.end()}, {}};
    for (Value& message : out.messages) join_parts(message);
    out.rendering = fill_contents(out.messages);
    check_calls(out);
    check_tools(out);
    check_thoughts(out.messages);
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

  // Some templates ask for a null where a call has no content, others for a text. Returns what the
  // template writes for the one that it asks for.
  jinja::Rendering fill_contents(std::vector<Value>& messages) const {
    std::vector<Value> filled = messages;
    bool has_gaps = false;
    for (Value& message : filled) {
      const Value* const content = find_text_key(message.dict(), "content");
      if (content && !content->is_none()) continue;
      message = with_content(message, "");
      has_gaps = true;
    }
    std::optional<jinja::Rendering> as_given;
    try {
      as_given = chat_.render(messages, tools_, options_);
    } catch (const jinja::TemplateRefusal&) {
      throw;
    } catch (const DataError&) {
      if (!has_gaps) throw;  // else it may have failed on a null
    }
    if (!has_gaps) return *std::move(as_given);
    if (as_given) {
      auto other = chat_.try_render(filled, tools_, options_);
      if (!other || num_nones(as_given->text) <= num_nones(other->text))
        return *std::move(as_given);
      messages = std::move(filled);
      return *std::move(other);
    }
    messages = std::move(filled);
    return chat_.render(messages, tools_, options_);
  }

  void check_calls(const WrittenMessages& written) const {
    std::vector<Value> others = written.messages;
    bool has_calls = false;
    for (Value& message : others) {
      if (!has_one_of(message, kCallFields)) continue;
      auto items = message.dict().items;
      std::erase_if(items, [](const auto& item) { return is_one_of(item.first, kCallFields); });
      message = Value::dict(std::move(items));
      has_calls = true;
    }
    if (!has_calls) return;
    const auto without = chat_.try_render(others, tools_, options_);
    if (without && without->text == written.rendering.text) fail("calls of tools");
  }

  void check_tools(const WrittenMessages& written) const {
    if (is_empty(tools_)) return;
    const auto without = chat_.try_render(written.messages, Value(), options_);
    if (without && without->text == written.rendering.text) fail("tools");
  }

  // Templates leave out the thoughts of earlier answers, as a model does when it goes on.
  void check_thoughts(const std::vector<Value>& messages) const {
    constexpr std::string_view kThought = "AxleThought";
    for (const std::string_view name : kThoughtFields) {
      const auto has_it = [&](const Value& message) { return has_one_of(message, {&name, 1}); };
      if (std::ranges::none_of(messages, has_it)) continue;
      const std::array<Value, 2> probe = {
          Value::dict({{"role", "user"}, {"content", "a"}}),
          Value::dict({{"role", "assistant"},
                       {"content", "b"},
                       {Value(std::string(name)), std::string(kThought)}})};
      const auto written = chat_.try_render(probe, Value(), options_);
      if (written && written->text.find(kThought) == written->text.npos)
        fail(fmt::format("thoughts ('{}')", name));
    }
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(fmt::format(
        "{}: expected a template that writes the {} of this conversation, got one that drops them",
        chat_.name(), what));
  }

  static bool is_one_of(const Value& key, Names names) {
    return key.is_text() && std::ranges::count(names, key.text()) > 0;
  }

  static bool has_one_of(const Value& message, Names names) {
    return std::ranges::any_of(message.dict().items, [&](const auto& item) {
      return is_one_of(item.first, names) && !is_empty(item.second);
    });
  }

  static bool is_empty(const Value& value) {
    return value.is_none() || (value.is_list() && value.list().elements.empty()) ||
           (value.is_text() && value.text().empty());
  }

  static int64_t num_nones(std::string_view text) {
    int64_t out = 0;
    for (size_t at = 0; (at = text.find("None", at)) != text.npos; at += 4) ++out;
    return out;
  }

  const ChatTemplate& chat_;
  const Value& tools_;
  const ChatTemplate::Options& options_;
};

}  // namespace

WrittenMessages written_messages(const ChatTemplate& chat, std::span<const jinja::Value> messages,
                                 const jinja::Value& tools, const ChatTemplate::Options& options) {
  return Writer(chat, tools, options).write(messages);
}

bool leaves_out(const ChatTemplate& chat, std::span<const Value> messages, size_t i,
                const Value& tools, const ChatTemplate::Options& options, std::string_view text) {
  std::vector<Value> others(messages.begin(), messages.end());
  others[i] = with_content(others[i], content_of(others[i]) == "AxleMark" ? "Other" : "AxleMark");
  const auto other = chat.try_render(others, tools, options);
  return other && other->text == text;
}

namespace {

using Json = nlohmann::ordered_json;
using Sorted = nlohmann::json;  // fields by their names

}  // namespace

bool are_same(const Json& message, const Json& other) { return Sorted(message) == Sorted(other); }

// By Knuth, Morris and Pratt, with two comparisons for a message at most on average.
bool have_among_them(const Json& messages, const Json& part) {
  if (part.empty()) return true;
  const std::vector<Sorted> sought(part.begin(), part.end());
  // The longest beginnings of the part that also end at a message of it, without being all of it.
  std::vector<size_t> borders(sought.size());
  const auto count_with = [&](const Sorted& message, size_t count) {
    while (count > 0 && sought[count] != message) count = borders[count - 1];
    return count + (sought[count] == message);
  };
  for (size_t i = 1; i < sought.size(); ++i) borders[i] = count_with(sought[i], borders[i - 1]);
  size_t count = 0;
  for (const Json& message : messages) {
    count = count_with(Sorted(message), count);
    if (count == sought.size()) return true;
  }
  return false;
}

}  // namespace axle
