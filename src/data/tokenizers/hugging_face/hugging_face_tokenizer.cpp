#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
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

// Names of a beginning and an end that are no tokens become the next ones, as in transformers.
void add_named_tokens(const FilesBeside& files, TokenizerParts& out) {
  std::vector<AddedToken> tokens = out.added.tokens();
  for (const char* name : {"bos_token", "eos_token"}) {
    const std::string text = files.special_token(name).value_or("");
    const bool is_there =
        Names(out).find(text) || std::ranges::count(tokens, text, &AddedToken::text) > 0;
    if (text.empty() || is_there) continue;
    const auto num_new = static_cast<int64_t>(tokens.size() - out.added.tokens().size());
    tokens.push_back(
        {.text = text, .id = static_cast<int32_t>(out.num_ids() + num_new), .special = true});
    out.fingerprint = xxh3_64(fmt::format("{:016x} {}", out.fingerprint, text));
  }
  if (tokens.size() > out.added.tokens().size())
    out.added = AddedTokens(std::move(tokens), out.normalizers, out.path);
}

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
  add_named_tokens(files, out);
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
