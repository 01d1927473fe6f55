#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/data_file.h"
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

namespace axle {
namespace {

using namespace hugging_face;

// Finds ids by the names of tokens.
class Names {
 public:
  explicit Names(const TokenizerParts& parts) : parts_(parts) {}
  std::optional<int32_t> find(std::string_view name) const {
    if (const AddedToken* const added = parts_.added.find(name)) return added->id;
    return parts_.model->vocabulary().find(name);
  }

 private:
  const TokenizerParts& parts_;
};

// Two classes of transformers take no notice of the file's post-processor. No class takes notice of
// "add_bos_token" and "add_eos_token" where there is a tokenizer.json.
void set_frame_of_class(const FilesBeside& files, TokenizerParts& out) {
  const std::string name = files.tokenizer_class();
  const bool begins = name == "CodeLlamaTokenizer";
  if (!begins && name != "GPTNeoXTokenizer") return;
  out.before.clear();
  out.behind.clear();
  if (!begins) return;
  if (const auto bos = Names(out).find(files.special_token("bos_token").value_or("<s>")))
    out.before = {*bos};
}

// Adds the tokens that only the files beside name, and lets these files say what others are for, as
// transformers 5 does: first those that they list, in the order of the ids there, then those with a
// name. A new token gets the next id, regardless of the id in the files.
class TokensBeside {
 public:
  explicit TokensBeside(TokenizerParts& parts)
      : parts_(parts),
        vocabulary_(parts.model->vocabulary()),
        tokens_(parts.added.tokens()),
        next_id_(vocabulary_.num_tokens()) {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      by_text_.emplace(tokens_[i].text, i);
      next_id_ = std::max(next_id_, tokens_[i].id + int64_t{1});
    }
  }

  void read(const FilesBeside& files) {
    const std::vector<AddedToken> listed = files.added_tokens();
    if (files.lists_added_tokens()) {
      for (const AddedToken& token : listed) add(token);
    } else {
      // A tokenizer.json says more of a token than added_tokens.json.
      for (const AddedToken& token : listed) {
        if (!parts_.added.find(token.id)) add(token);
      }
      for (const AddedToken& token : files.named_tokens()) {
        if (const AddedToken* const own = parts_.added.find(token.text)) add_as_special(*own);
      }
    }
    for (const AddedToken& token : files.special_tokens()) {
      if (!by_text_.contains(token.text)) add(token);
    }
    if (changes_.empty()) return;
    parts_.fingerprint = xxh3_64(fmt::format("{:016x}{}", parts_.fingerprint, changes_));
    parts_.added = AddedTokens(std::move(tokens_), parts_.normalizers, parts_.path);
  }

 private:
  static std::string described(const AddedToken& token) {
    return fmt::format("\n{} {} {:d}{:d}{:d}{:d}{:d}", token.id, token.text, token.special,
                       token.single_word, token.strip_left, token.strip_right, token.normalized);
  }

  void add(AddedToken token) {
    const auto [known, is_new] = by_text_.try_emplace(token.text, tokens_.size());
    if (is_new) {
      const auto id = vocabulary_.find(token.text);
      token.id = id.value_or(static_cast<int32_t>(next_id_));
      next_id_ = std::max(next_id_, token.id + int64_t{1});
      tokens_.emplace_back();
    } else {
      token.id = tokens_[known->second].id;
      token.special |= tokens_[known->second].special;  // once special, always special
    }
    AddedToken& place = tokens_[known->second];
    std::string change = described(token);
    if (!is_new && change == described(place)) return;
    changes_ += change;
    place = std::move(token);
  }
  void add_as_special(AddedToken token) {
    token.special = true;
    add(std::move(token));
  }

  TokenizerParts& parts_;
  const Vocabulary& vocabulary_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> by_text_;  // indices of tokens_
  int64_t next_id_;
  std::string changes_;
};

SpecialIds find_special_ids(const HuggingFaceTokenizer::Config& cfg, const TokenizerParts& parts,
                            const FilesBeside& files, const Scope& scope) {
  const Names names(parts);
  const auto id = [&](const std::optional<std::string>& own, const char* own_field,
                      const char* key) -> std::optional<int32_t> {
    if (own) {
      const auto found = names.find(*own);
      if (!found) {
        throw ConfigError(fmt::format("{}.{}: expected a token of {}, got '{}'", scope.path,
                                      own_field, parts.path, printable(*own)));
      }
      return found;
    }
    const auto named = files.special_token(key);
    return named ? names.find(*named) : std::nullopt;
  };
  SpecialIds out{.bos = id(cfg.bos, "bos", ""),
                 .eos = id(cfg.eos, "eos", "eos_token"),
                 .pad = id(cfg.pad, "pad", "pad_token")};
  if (!out.bos && !parts.before.empty()) out.bos = parts.before.front();
  if (!out.eos && !parts.behind.empty()) out.eos = parts.behind.back();
  return out;
}

TokenizerParts read_parts(const JsonView& json, const std::string& path) {
  TokenizerParts out{.path = path};
  if (const auto normalizer = field(json, "normalizer"))
    out.normalizers = read_normalizers(*normalizer);
  PreTokenizers pre_tokenizers;
  if (const auto pre = field(json, "pre_tokenizer")) pre_tokenizers = read_pre_tokenizers(*pre);
  out.model = read_model(json.at("model"), pre_tokenizers);
  out.pre_tokenizers = std::move(pre_tokenizers.steps);
  if (const auto added = field(json, "added_tokens"))
    out.added =
        AddedTokens(read_added_tokens(*added, out.model->vocabulary()), out.normalizers, path);
  if (const auto decoder = field(json, "decoder")) {
    out.decoder = read_decoder(*decoder);
  } else {  // tokens with spaces between them
    out.decoder = {.steps = {[](std::string& token) { token.insert(token.begin(), ' '); }},
                   .leading_space = LeadingSpace::kDropOne};
  }
  if (const auto frame = field(json, "post_processor")) {
    auto [before, behind] = read_frame(*frame);
    out.before = std::move(before);
    out.behind = std::move(behind);
  }
  return out;
}

TokenizerParts read_tokenizer(const HuggingFaceTokenizer::Config& cfg, const Scope& scope) {
  const std::string& path = cfg.path.get();
  const std::string bytes =
      read_data_file(path, fmt::format("{}.path", scope.path), kTokenizerJsonName);
  TokenizerParts out = json_as<DataError>(path, [&] {
    const nlohmann::ordered_json document = read_json(bytes);
    return read_parts(JsonView(document), path);
  });
  out.fingerprint = xxh3_64(bytes);
  const FilesBeside files(path_of_text(path));
  TokensBeside(out).read(files);
  set_frame_of_class(files, out);
  out.special_ids = find_special_ids(cfg, out, files, scope);
  out.chat = files.chat_settings(out.num_ids());
  return out;
}

}  // namespace

HuggingFaceTokenizer::HuggingFaceTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : PipelineTokenizer(read_tokenizer(cfg, scope)) {}

AXLE_REGISTER(HuggingFaceTokenizer)

}  // namespace axle
