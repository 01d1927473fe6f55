#include "data/chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/chat/answer_spans.h"
#include "data/data_file.h"
#include "data/tokenizers/tokenizer.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"

namespace axle {

using Json = nlohmann::ordered_json;

Conversation conversation_of(std::string_view text, const char* messages) {
  const Json json = read_json(text);
  Conversation out;
  if (!json.contains(messages)) {
    const bool is_pair = json.contains("chosen");
    throw JsonError(fmt::format(
        "expected {}, as in other records, got {}; keep pairs of answers in files of their own",
        is_pair ? "a conversation" : "a pair of answers",
        is_pair ? "a pair of answers" : "a conversation"));
  }
  try {
    for (const Json& message : json.at(messages))
      out.messages.push_back(jinja::Value::of_json(message));
    if (json.contains("tools")) out.tools = jinja::Value::of_json(json.at("tools"));
    if (json.contains("chat_template_kwargs")) {
      for (const auto& [name, value] : json.at("chat_template_kwargs").items())
        out.variables.emplace_back(name, jinja::Value::of_json(value));
    }
  } catch (const jinja::JinjaError& error) {
    throw JsonError(error.what());
  }
  return out;
}

jinja::Value message_of(std::string_view role, std::string_view content) {
  return jinja::Value::dict({{"role", role}, {"content", content}});
}

const std::string& role_of(const jinja::Value& message) {
  return jinja::find_text_key(message.dict(), "role")->text();
}

bool is_unlearned(const jinja::Value& message) {
  const jinja::Value* const weight = jinja::find_text_key(message.dict(), "weight");
  return weight && weight->is_number() && weight->number() == 0;
}

namespace {

// True for none, "", white space, and for a list without anything else.
bool is_blank(const jinja::Value& value) {
  if (value.is_text()) return trim(value.text()).empty();
  if (!value.is_list()) return value.is_none();
  return std::ranges::all_of(value.list().elements, [](const jinja::Value& part) {
    if (!part.is_dict()) return is_blank(part);
    const jinja::Value* const text = jinja::find_text_key(part.dict(), "text");
    return text && is_blank(*text);
  });
}

}  // namespace

bool says_nothing(const jinja::Value& message) {
  const auto is_blank_field = [&](std::string_view name) {
    const jinja::Value* const field = jinja::find_text_key(message.dict(), name);
    return !field || is_blank(*field);
  };
  return is_blank_field("content") && std::ranges::all_of(kCallFields, is_blank_field) &&
         std::ranges::all_of(kThoughtFields, is_blank_field);
}

std::string_view content_of(const jinja::Value& message) {
  const jinja::Value* const content = jinja::find_text_key(message.dict(), "content");
  return content && content->is_text() ? std::string_view(content->text()) : std::string_view();
}

const jinja::Value* text_of_part(const jinja::Value& part) {
  const jinja::Value* const text =
      part.is_dict() ? jinja::find_text_key(part.dict(), "text") : nullptr;
  return text && text->is_text() ? text : nullptr;
}

jinja::Value with_content(const jinja::Value& message, jinja::Value content) {
  auto items = message.dict().items;
  std::erase_if(items, [](const auto& item) {
    return item.first.is_text() && item.first.text() == "content";
  });
  items.emplace_back("content", std::move(content));
  return jinja::Value::dict(std::move(items));
}

namespace {

bool has_form_for_parts(const ChatTemplate& chat) {
  const auto render = [&](jinja::Value content) {
    const jinja::Value message =
        jinja::Value::dict({{"role", "user"}, {"content", std::move(content)}});
    return chat.try_render(std::span(&message, 1), jinja::Value(), {.now_secs = 0});
  };
  const jinja::Value part = jinja::Value::dict({{"type", "text"}, {"text", "a"}});
  const auto of_text = render("a");
  if (!of_text) return true;
  const auto of_parts = render(jinja::Value::list({part}));
  return of_parts && of_parts->text == of_text->text;
}

// True if other contents, as texts or as parts, change what the template writes, or if it refuses a
// question with an answer.
bool writes_contents(const ChatTemplate& chat) {
  using jinja::Value;
  const auto render = [&](const auto& asked, const auto& said) {
    const Value messages[] = {Value::dict({{"role", "user"}, {"content", asked}}),
                              Value::dict({{"role", "assistant"}, {"content", said}})};
    return chat.try_render(messages, Value(), {.now_secs = 0});
  };
  const auto part = [](const char* text) {
    return Value::list({Value::dict({{"type", "text"}, {"text", text}})});
  };
  const auto one = render("a", "b"), other = render("cd", "efg");
  if (!one || !other || one->text != other->text) return true;
  const auto parts = render(part("a"), part("b")), others = render(part("cd"), part("efg"));
  return parts && others && parts->text != others->text;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, std::string name,
                           std::vector<std::pair<std::string, std::string>> special_tokens)
    : template_(source, std::move(name)),
      source_(source),
      special_tokens_(std::move(special_tokens)),
      marks_generation_(template_.has_generation()) {
  std::string what = fmt::format("{:x}", xxh3_64(source));
  for (const auto& [token, text] : special_tokens_)
    what += fmt::format(" {} {:x}", token, xxh3_64(text));
  fingerprint_ = xxh3_64(what);
  reads_parts_ = has_form_for_parts(*this);
}

jinja::Rendering ChatTemplate::render(std::span<const jinja::Value> messages,
                                      const jinja::Value& tools, const Options& options) const {
  jinja::Variables variables;
  for (const auto& [name, text] : special_tokens_) variables.emplace_back(name, text);
  variables.emplace_back("messages", jinja::Value::list({messages.begin(), messages.end()}));
  variables.emplace_back("tools", tools);
  variables.emplace_back("documents", jinja::Value());
  variables.emplace_back("add_generation_prompt", options.add_generation_prompt);
  for (const auto& variable : options.variables) variables.push_back(variable);
  return template_.render(variables, {}, options.now_secs);
}

std::optional<jinja::Rendering> ChatTemplate::try_render(std::span<const jinja::Value> messages,
                                                         const jinja::Value& tools,
                                                         const Options& options) const {
  try {
    return render(messages, tools, options);
  } catch (const DataError&) {
    return std::nullopt;
  }
}

namespace {

constexpr std::string_view kPlainTemplate =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' }}"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}"
    "{% else %}{{ message.content + '<|im_end|>\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::vector<std::pair<std::string, std::string>> special_tokens_of(const Tokenizer& tokenizer) {
  auto out = tokenizer.chat_settings().special_tokens;
  const SpecialIds ids = tokenizer.special_ids();
  const auto add = [&](const char* name, std::optional<int32_t> id) {
    const auto has_name = [&](const auto& entry) { return entry.first == name; };
    if (!id || std::ranges::any_of(out, has_name)) return;
    if (std::string text = tokenizer.token(*id); !text.empty())
      out.emplace_back(name, std::move(text));
  };
  add("bos_token", ids.bos);
  add("eos_token", ids.eos);
  add("pad_token", ids.pad);
  return out;
}

}  // namespace

std::optional<ChatTemplate> find_chat_template(const Tokenizer& tokenizer,
                                               const std::optional<std::string>& file,
                                               std::string_view field) {
  if (file) return chat_template_of_text(tokenizer, read_chat_template(*file, field), *file);
  const std::string text = tokenizer.chat_settings().chat_template;
  if (text.empty()) return std::nullopt;
  return chat_template_of_text(tokenizer, text, "the tokenizer's chat template");
}

ChatTemplate chat_template_of_text(const Tokenizer& tokenizer, std::string_view text,
                                   std::string name) {
  return {text, std::move(name), special_tokens_of(tokenizer)};
}

ChatTemplate chat_template_or_plain(const Tokenizer& tokenizer,
                                    const std::optional<std::string>& file,
                                    std::string_view field) {
  auto own = find_chat_template(tokenizer, file, field);
  if (!own) return plain_chat_template(tokenizer);
  if (writes_contents(*own)) return std::move(*own);
  throw DataError(fmt::format(
      "{}: expected a chat template, got a text that writes nothing of a question and its answer; "
      "set {}",
      own->name(), field));
}

ChatTemplate plain_chat_template(const Tokenizer& tokenizer) {
  return chat_template_of_text(tokenizer, kPlainTemplate, "the plain template");
}

std::string read_chat_template(const std::string& path, std::string_view field) {
  const std::filesystem::path file = path_of_text(path);
  std::error_code none;  // a pipe holds no GGUF file, which is read at any offset
  const bool is_stream = path_exists(file) && std::filesystem::is_other(file, none);
  if (!is_stream && storage_error_as<DataError>([&] { return is_gguf(file); })) {
    return GgufFile(file).metadata().at("tokenizer.chat_template").text();
  }
  // A *.jinja file is of no format that is known by its beginning.
  std::string text = read_data_stream(
      path, field, "a chat template (*.jinja), a tokenizer_config.json or a GGUF file",
      "a tokenizer_config.json of Hugging Face");
  if (!trim(text).starts_with('{') || trim(text).starts_with("{%") ||
      trim(text).starts_with("{{") || trim(text).starts_with("{#"))
    return text;
  return json_as<DataError>(path, [&] {
    const auto json = read_json(text);
    JsonView(json).at("chat_template");  // throws if there is none
    return chat_template_in(JsonView(json));
  });
}

namespace {

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (std::ranges::count(all, text) == 0) all.push_back(text);
}

// Other ends, such as an empty line, are meant to be text.
bool is_like_a_token(std::string_view text) {
  return text.starts_with('<') || text.starts_with('[');
}

}  // namespace

std::vector<std::string> spelled_ends(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  std::vector<std::string> out = answer_end(chat, tokenizer).texts;
  std::erase_if(out, [](const std::string& text) { return !is_like_a_token(text); });
  return out;
}

void add_template(InputFacts& facts, const ChatTemplate& chat, const Tokenizer& tokenizer) {
  add_once(facts.chat_templates, chat.source());
  for (const std::string& end : spelled_ends(chat, tokenizer)) add_once(facts.spelled_ends, end);
}

}  // namespace axle
