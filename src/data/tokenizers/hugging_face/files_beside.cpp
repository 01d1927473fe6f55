#include "data/tokenizers/hugging_face/files_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "io/file.h"

namespace axle::hugging_face {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  return storage_error_as<DataError>([&] { return read_file(file); });
}

// A special token is a text, or an object with it.
AddedToken special_token_of(const JsonView& token) {
  if (!token.json().is_object()) return {.text = token.text(), .special = true};
  AddedToken out = read_added_token(token);
  out.special = true;
  out.normalized = bool_field(token, "normalized", false);
  return out;
}

constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char* kDecoder = "added_tokens_decoder";
constexpr const char* kMoreSpecial = "extra_special_tokens";

// True for the name of a special token that only some models have: "image_token".
bool is_own_name(const std::string& name) {
  return name.ends_with("_token") && std::ranges::find(kNames, name) == std::end(kNames);
}
// Other fields have such names, too: "add_bos_token".
bool is_text(const JsonView& value) { return value.json().is_string(); }
bool is_token_object(const JsonView& value) {
  const auto type = value.json().is_object() ? value.find("__type") : std::nullopt;
  return type && type->json() == "AddedToken";
}
bool is_text_or_object(const JsonView& value) { return is_text(value) || value.json().is_object(); }

std::unordered_set<std::string> texts_of(const std::vector<AddedToken>& tokens) {
  std::unordered_set<std::string> out;
  for (const AddedToken& token : tokens) out.insert(token.text);
  return out;
}

// A row of added_tokens_decoder: its key is the id. A token with a name is a special one.
AddedToken added_token(const std::string& key, const JsonView& row,
                       const std::unordered_set<std::string>& names) {
  AddedToken out = read_added_token(row);
  if (!out.special && names.contains(out.text)) {
    out.special = true;
    out.normalized = bool_field(row, "normalized", false);
  }
  const char* const end = key.data() + key.size();
  const auto [last, error] = std::from_chars(key.data(), end, out.id);
  if (error != std::errc() || last != end || out.id < 0 || out.id > Vocabulary::kMaxId)
    throw JsonError(fmt::format("{}: expected an id of 0 to {} as its name, got '{}'", row.path(),
                                Vocabulary::kMaxId, printable(key)));
  return out;
}

void check_added_tokens(const std::vector<AddedToken>& tokens, const std::string& path) {
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

bool FilesBeside::lists_added_tokens() const {
  return tokenizer_config_.json && tokenizer_config_.json->contains(kDecoder);
}

void FilesBeside::read_special(std::string_view name,
                               const std::function<void(const JsonView&)>& read) const {
  for (const File* const file : {&special_tokens_map_, &tokenizer_config_}) {
    if (!file->json || (lists_added_tokens() && file != &tokenizer_config_)) continue;
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
  read_special(name, [&](const JsonView& token) { out = special_token_of(token).text; });
  return out;
}

// Objects stand before texts, and the tokens of special_tokens_map.json between them.
std::vector<std::string> FilesBeside::own_names() const {
  std::vector<std::string> out;
  const auto add_from = [&](const File& file, bool (*is_token)(const JsonView&)) {
    if (!file.json) return;
    json_as<DataError>(file.path, [&] {
      for (const auto& [name, value] : JsonView(*file.json).members()) {
        if (is_own_name(name) && is_token(value)) out.push_back(name);
      }
    });
  };
  add_from(tokenizer_config_, is_token_object);
  if (!lists_added_tokens()) add_from(special_tokens_map_, is_text_or_object);
  add_from(tokenizer_config_, is_text);
  return out;
}

std::vector<AddedToken> FilesBeside::read_special_tokens(bool with_nameless) const {
  std::vector<AddedToken> out;
  std::unordered_map<std::string, size_t> places;
  // Of tokens with the same text, the last one counts.
  const auto add = [&](const JsonView& json) {
    AddedToken token = special_token_of(json);
    if (token.text.empty()) return;
    const auto [place, is_new] = places.try_emplace(token.text, out.size());
    if (is_new) out.emplace_back();
    out[place->second] = std::move(token);
  };
  const auto add_all = [&](const JsonView& tokens) {
    for (const JsonView& token : tokens.elements()) add(token);
  };
  for (const char* name : kNames) read_special(name, add);
  for (const std::string& name : own_names()) read_special(name, add);
  bool has_list = false;
  read_special(kMoreSpecial, [&](const JsonView& tokens) {
    if (tokens.json().is_object()) {
      for (const auto& [name, token] : tokens.members()) add(token);
    } else {
      has_list = !tokens.json().empty();
      if (with_nameless) add_all(tokens);
    }
  });
  if (with_nameless && !has_list) read_special("additional_special_tokens", add_all);
  return out;
}

std::vector<AddedToken> FilesBeside::named_tokens() const { return read_special_tokens(false); }
std::vector<AddedToken> FilesBeside::special_tokens() const { return read_special_tokens(true); }

std::vector<AddedToken> FilesBeside::added_tokens() const {
  std::vector<AddedToken> out;
  const File& file = lists_added_tokens() ? tokenizer_config_ : added_tokens_;
  if (!file.json) return out;
  json_as<DataError>(file.path, [&] {
    const JsonView document(*file.json);
    if (lists_added_tokens()) {
      const std::unordered_set<std::string> names = texts_of(named_tokens());
      for (const auto& [key, row] : document.at(kDecoder).members())
        out.push_back(added_token(key, row, names));
      return;
    }
    const std::unordered_set<std::string> special = texts_of(special_tokens());
    for (const auto& [text, id] : document.members()) {
      const bool is_special = special.contains(text);
      out.push_back({.text = text,
                     .id = static_cast<int32_t>(id.integer(0, Vocabulary::kMaxId)),
                     .special = is_special,
                     .normalized = !is_special});
    }
  });
  // Of the tokens without text, none is ever found.
  std::erase_if(out, [](const AddedToken& token) { return token.text.empty(); });
  std::ranges::stable_sort(out, {}, &AddedToken::id);
  return out;
}

std::vector<AddedToken> FilesBeside::distinct_added_tokens() const {
  std::vector<AddedToken> out = added_tokens();
  check_added_tokens(out, (lists_added_tokens() ? tokenizer_config_ : added_tokens_).path);
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
