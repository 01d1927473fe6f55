#include "data/tokenizers/gguf/gguf_tokenizer_json.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "base/text/utf8.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/gguf/split_names.h"
#include "data/tokenizers/hugging_face/byte_level_json.h"
#include "data/tokenizers/parts/token_model.h"
#include "io/file.h"
#include "io/gguf/gguf_header.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// The text of a special token; null if there is none.
Json special_token(const TokenizerParts& parts, std::string_view name) {
  for (const auto& [key, text] : parts.chat.special_tokens)
    if (key == name) return text;
  return nullptr;
}

Json added_tokens(const TokenizerParts& parts, const std::vector<std::string>& tokens,
                  const std::vector<int64_t>& kinds) {
  Json out = Json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_special = kinds[i] == 2 || kinds[i] == 3;  // unknown, control
    if (!is_special && kinds[i] != 4) continue;              // user-defined
    out.push_back(added_token_entry(static_cast<int64_t>(i), tokens[i], is_special));
    const AddedToken* const added = parts.added.find(static_cast<int32_t>(i));
    out.back()["rstrip"] = added && added->strip_right;
    out.back()["normalized"] = added && added->normalized;
  }
  return out;
}

std::vector<FrameToken> frame_tokens(const std::vector<int32_t>& ids,
                                     const std::vector<std::string>& tokens) {
  std::vector<FrameToken> out;
  for (const int32_t id : ids) out.push_back({id, tokens[static_cast<size_t>(id)]});
  return out;
}

constexpr int64_t kNormal = 1;

// The merges that join tokens to one of a better score first. Null for unions of equal scores: of
// them the leftmost in a text goes first, and here the one that is named first.
Json merges_by_score(const std::vector<std::string>& tokens, const std::vector<int64_t>& kinds,
                     const std::vector<float>& scores) {
  std::unordered_set<std::string_view> parts;
  std::vector<size_t> unions;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (kinds[id] != kNormal || tokens[id].empty()) continue;
    if (!parts.insert(tokens[id]).second) return nullptr;
    unions.push_back(id);
  }
  std::ranges::stable_sort(unions, std::greater(), [&](size_t id) { return scores[id]; });
  Json out = Json::array();
  std::optional<float> last;
  for (const size_t id : unions) {
    const std::string_view both = tokens[id];
    const size_t num_before = out.size();
    for (size_t cut = utf8_step(both).size; cut < both.size();
         cut += utf8_step(both.substr(cut)).size) {
      if (parts.contains(both.substr(0, cut)) && parts.contains(both.substr(cut)))
        out.push_back({both.substr(0, cut), both.substr(cut)});
    }
    if (out.size() == num_before) continue;
    if (last == scores[id]) return nullptr;
    last = scores[id];
  }
  return out;
}

// The fields of tokenizer.json for tokens with scores; null if there are none.
Json scored_document(const GgufMetadata& metadata, const TokenizerParts& parts) {
  const std::vector<std::string>& tokens = metadata.at("tokenizer.ggml.tokens").texts();
  std::vector<int64_t> kinds(tokens.size(), kNormal);
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) kinds = types->integers(1, 6);
  const bool has_prefix = parts.decoder.leading_space != LeadingSpace::kKeep;
  if (has_prefix && std::ranges::any_of(parts.added.tokens(), &AddedToken::normalized))
    return nullptr;
  const Json spaces = replace_step(" ", std::string(kMetaSpace));
  ByteLevelJson out{
      .added_tokens = added_tokens(parts, tokens, kinds),
      .pre_tokenizer = nullptr,
      .post_processor =
          frame_step(frame_tokens(parts.before, tokens), frame_tokens(parts.behind, tokens)),
      .vocab = vocabulary_object(tokens),
      .merges = merges_by_score(tokens, kinds, metadata.at("tokenizer.ggml.scores").numbers()),
      .byte_fallback = true,
      .decoder = {{"type", "Sequence"},
                  {"decoders",
                   {replace_step(std::string(kMetaSpace), " "),
                    {{"type", "ByteFallback"}},
                    {{"type", "Fuse"}}}}},
      .normalizer = spaces,
      .unknown = special_token(parts, "unk_token")};
  if (out.merges.is_null()) return nullptr;
  if (has_prefix) {
    out.normalizer = {{"type", "Sequence"},
                      {"normalizers", {{{"type", "Prepend"}, {"prepend", kMetaSpace}}, spaces}}};
    out.decoder["decoders"].push_back(
        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return out.document();
}

Json byte_level_document(const GgufMetadata& metadata, const TokenizerParts& parts) {
  const std::vector<std::string>& tokens = metadata.at("tokenizer.ggml.tokens").texts();
  std::vector<int64_t> kinds;
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) kinds = types->integers(1, 6);
  const auto pre = metadata.find("tokenizer.ggml.pre");
  const GgufSplit& split = *find_gguf_split(pre ? pre->text() : "default");
  const ByteLevelJson out{.added_tokens = added_tokens(parts, tokens, kinds),
                          .pre_tokenizer = split_steps(split.patterns),
                          .post_processor = frame_step(frame_tokens(parts.before, tokens),
                                                       frame_tokens(parts.behind, tokens)),
                          .vocab = vocabulary_object(tokens),
                          .merges = metadata.at("tokenizer.ggml.merges").texts(),
                          .ignore_merges = split.ignore_merges};
  return out.document();
}

}  // namespace

std::map<std::string, std::string> gguf_tokenizer_json(const std::filesystem::path& file) {
  const GgufMetadata metadata =
      storage_error_as<DataError>([&] { return read_gguf_header(FileReader(file)).metadata; });
  const TokenizerParts parts = parts_of_gguf(metadata, file.string());  // checks them
  const bool is_byte_level = metadata.at("tokenizer.ggml.model").text() == "gpt2";
  const Json document =
      is_byte_level ? byte_level_document(metadata, parts) : scored_document(metadata, parts);
  if (document.is_null()) return {};
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false}};
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    if (const Json text = special_token(parts, name); !text.is_null()) config[name] = text;
  }
  if (!parts.chat.chat_template.empty()) config["chat_template"] = parts.chat.chat_template;
  return {{"tokenizer.json", document.dump(is_byte_level ? 2 : -1) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace axle
