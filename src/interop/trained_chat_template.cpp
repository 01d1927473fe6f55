#include "interop/trained_chat_template.h"

#include <nlohmann/json.hpp>

#include "io/file.h"

namespace axle {

std::filesystem::path trained_chat_template_file(const std::filesystem::path& dir) {
  return dir / "trained_chat_template.jinja";
}

void keep_chat_template(const std::vector<std::string>& texts, const std::filesystem::path& dir,
                        bool is_new) {
  const std::filesystem::path file = trained_chat_template_file(dir);
  if (!texts.empty())
    replace_file(file, texts.front());
  else if (is_new)
    remove_tree(file);  // of a start that was given up
}

std::optional<ChatTemplate> trained_chat_template(const LoadedModel& loaded) {
  const std::filesystem::path& file = loaded.chat_template_file;
  if (!file.empty())
    return chat_template_of_text(*loaded.tokenizer, read_file(file), file.string());
  const nlohmann::ordered_json& input = loaded.input;
  const std::string kind = input.is_object() ? input.value("class", "") : "";
  if (kind != "ChatInput" && kind != "PreferenceInput") return std::nullopt;
  std::optional<std::string> named;
  if (input.contains("chat_template") && input["chat_template"].is_string())
    named = input["chat_template"].get<std::string>();
  return chat_template_or_plain(*loaded.tokenizer, named, "--chat-template");
}

}  // namespace axle
