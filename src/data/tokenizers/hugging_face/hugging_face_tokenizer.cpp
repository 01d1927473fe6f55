#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/utf8.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/tokenizers/hugging_face/files_beside.h"
#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "io/file.h"
#include "io/user_path.h"

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
// name. A new token gets the next id, whatever id the files give it.
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
