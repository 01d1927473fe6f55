#include "data/tokenizers/hugging_face/files_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
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

constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char* kDecoder = "added_tokens_decoder";

// A row of added_tokens_decoder: its key is the id.
AddedToken added_token(const std::string& key, const JsonView& row) {
  AddedToken out{.text = row.at("content").text(),
                 .special = bool_field(row, "special", false),
                 .single_word = bool_field(row, "single_word", false),
                 .strip_left = bool_field(row, "lstrip", false),
                 .strip_right = bool_field(row, "rstrip", false)};
  const char* const end = key.data() + key.size();
  const auto [last, error] = std::from_chars(key.data(), end, out.id);
  if (error != std::errc() || last != end || out.id < 0 || out.id > Vocabulary::kMaxId)
    throw JsonError(fmt::format("{}: expected an id of 0 to {} as its name, got '{}'", row.path(),
                                Vocabulary::kMaxId, printable(key)));
  return out;
}

// Of the tokens without text, none is ever found.
void check_added_tokens(std::vector<AddedToken>& tokens, const std::string& path) {
  std::erase_if(tokens, [](const AddedToken& token) { return token.text.empty(); });
  std::ranges::sort(tokens, {}, &AddedToken::id);
  std::set<std::string_view> texts;
  const AddedToken* before = nullptr;
  for (const AddedToken& token : tokens) {
    const bool is_new = texts.insert(token.text).second && !(before && before->id == token.id);
    if (!is_new)
      throw DataError(
          fmt::format("{}: expected one token for each id and text, got more for {} "
                      "'{}'",
                      path, token.id, printable(token.text)));
    before = &token;
  }
}

}  // namespace

FilesBeside::File::File(const fs::path& file) : path(file.string()) {
  if (!path_exists(file)) return;
  const std::string text = read_text(file);
  json = json_as<DataError>(path, [&] { return read_json(text); });
}

FilesBeside::FilesBeside(const fs::path& tokenizer)
    : tokenizer_config_(tokenizer.parent_path() / "tokenizer_config.json"),
      special_tokens_map_(tokenizer.parent_path() / "special_tokens_map.json"),
      added_tokens_(tokenizer.parent_path() / "added_tokens.json"),
      generation_config_(tokenizer.parent_path() / "generation_config.json"),
      chat_template_(tokenizer.parent_path() / "chat_template.jinja") {}

bool FilesBeside::name_tokens() const {
  return tokenizer_config_.json || special_tokens_map_.json || added_tokens_.json;
}

void FilesBeside::read_special(std::string_view name,
                               const std::function<void(const JsonView&)>& read) const {
  const bool is_whole = tokenizer_config_.json && tokenizer_config_.json->contains(kDecoder);
  for (const File* const file : {&special_tokens_map_, &tokenizer_config_}) {
    if (!file->json || (is_whole && file != &tokenizer_config_)) continue;
    const bool is_found = json_as<DataError>(file->path, [&] {
      const auto found = field(JsonView(*file->json), name);
      if (found) read(*found);
      return found.has_value();
    });
    if (is_found) return;
  }
}

std::optional<std::string> FilesBeside::special_token(std::string_view name) const {
  std::optional<std::string> out;
  read_special(name, [&](const JsonView& token) { out = token_text(token); });
  return out;
}

std::vector<std::string> FilesBeside::special_tokens() const {
  std::vector<std::string> out;
  std::unordered_set<std::string> known;
  const auto add = [&](std::string text) {
    if (!text.empty() && known.insert(text).second) out.push_back(std::move(text));
  };
  for (const char* name : kNames) add(special_token(name).value_or(""));
  read_special("additional_special_tokens", [&](const JsonView& tokens) {
    for (const JsonView& token : tokens.elements()) add(token_text(token));
  });
  return out;
}

std::vector<AddedToken> FilesBeside::added_tokens() const {
  std::vector<AddedToken> out;
  const bool is_listed = tokenizer_config_.json && tokenizer_config_.json->contains(kDecoder);
  const File& file = is_listed ? tokenizer_config_ : added_tokens_;
  if (!file.json) return out;
  json_as<DataError>(file.path, [&] {
    const JsonView document(*file.json);
    if (is_listed) {
      for (const auto& [key, row] : document.at(kDecoder).members())
        out.push_back(added_token(key, row));
      return;
    }
    const std::vector<std::string> listed = special_tokens();
    const std::unordered_set<std::string> special(listed.begin(), listed.end());
    for (const auto& [text, id] : document.members()) {
      out.push_back({.text = text,
                     .id = static_cast<int32_t>(id.integer(0, Vocabulary::kMaxId)),
                     .special = special.contains(text)});
    }
  });
  check_added_tokens(out, file.path);
  return out;
}

std::string FilesBeside::tokenizer_class() const {
  if (!tokenizer_config_.json) return {};
  std::string out = json_as<DataError>(tokenizer_config_.path, [&] {
    return text_field(JsonView(*tokenizer_config_.json), "tokenizer_class", "");
  });
  constexpr std::string_view kFast = "Fast";
  if (out.ends_with(kFast)) out.resize(out.size() - kFast.size());
  return out;
}

bool FilesBeside::flag(std::string_view name, bool otherwise) const {
  if (!tokenizer_config_.json) return otherwise;
  return json_as<DataError>(tokenizer_config_.path, [&] {
    return bool_field(JsonView(*tokenizer_config_.json), name, otherwise);
  });
}

ChatSettings FilesBeside::chat_settings(int64_t vocab_size) const {
  ChatSettings out;
  for (const char* name : kNames) {
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
