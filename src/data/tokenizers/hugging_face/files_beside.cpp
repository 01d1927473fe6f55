#include "data/tokenizers/hugging_face/files_beside.h"

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "data/tokenizers/hugging_face/json_fields.h"
#include "io/file.h"

namespace axle::hugging_face {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  return storage_error_as<DataError>([&] { return read_file(file); });
}

// A token is a text, or an object with it.
std::string token_text(const JsonView& token) {
  return token.json().is_object() ? token.at("content").text() : token.text();
}

}  // namespace

FilesBeside::File::File(const fs::path& file) : path(file.string()) {
  if (!path_exists(file)) return;
  const std::string text = read_text(file);
  json = json_as<DataError>(path, [&] { return read_json(text); });
}

FilesBeside::FilesBeside(const fs::path& tokenizer)
    : tokenizer_config_(tokenizer.parent_path() / "tokenizer_config.json"),
      generation_config_(tokenizer.parent_path() / "generation_config.json"),
      chat_template_(tokenizer.parent_path() / "chat_template.jinja") {}

std::optional<std::string> FilesBeside::special_token(std::string_view name) const {
  if (!tokenizer_config_.json) return std::nullopt;
  return json_as<DataError>(tokenizer_config_.path, [&]() -> std::optional<std::string> {
    const auto found = field(JsonView(*tokenizer_config_.json), name);
    if (!found) return std::nullopt;
    return token_text(*found);
  });
}

ChatSettings FilesBeside::chat_settings(int64_t vocab_size) const {
  ChatSettings out;
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                           "cls_token", "mask_token"}) {
    if (auto text = special_token(name)) out.special_tokens.emplace_back(name, std::move(*text));
  }
  if (path_exists(chat_template_)) {
    out.chat_template = read_text(chat_template_);
    check_format<DataError>(chat_template_.string(), "a chat template", "", out.chat_template);
  } else if (tokenizer_config_.json) {
    out.chat_template = json_as<DataError>(tokenizer_config_.path, [&] {
      return chat_template_in(JsonView(*tokenizer_config_.json));
    });
  }
  if (!generation_config_.json) return out;
  json_as<DataError>(generation_config_.path, [&] {
    const auto ends = field(JsonView(*generation_config_.json), "eos_token_id");
    if (!ends) return;
    for (const JsonView& id :
         ends->json().is_array() ? ends->elements() : std::vector<JsonView>{*ends})
      out.end_ids.push_back(static_cast<int32_t>(id.integer(0, vocab_size - 1)));
  });
  return out;
}

}  // namespace axle::hugging_face
