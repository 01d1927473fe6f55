#include "data/tokenizers/gguf/gguf_tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/gguf/split_names.h"
#include "data/tokenizers/hugging_face/byte_level_json.h"
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

Json added_tokens(const std::vector<std::string>& tokens, const std::vector<int64_t>& kinds) {
  Json out = Json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_special = kinds[i] == 2 || kinds[i] == 3;  // unknown, control
    if (!is_special && kinds[i] != 4) continue;              // user-defined
    out.push_back(added_token_entry(static_cast<int64_t>(i), tokens[i], is_special));
  }
  return out;
}

std::vector<FrameToken> frame_tokens(const std::vector<int32_t>& ids,
                                     const std::vector<std::string>& tokens) {
  std::vector<FrameToken> out;
  for (const int32_t id : ids) out.push_back({id, tokens[static_cast<size_t>(id)]});
  return out;
}

}  // namespace

std::map<std::string, std::string> gguf_tokenizer_json(const std::filesystem::path& file) {
  const GgufMetadata metadata =
      storage_error_as<DataError>([&] { return read_gguf_header(FileReader(file)).metadata; });
  const TokenizerParts parts = parts_of_gguf(metadata, file.string());  // checks them
  if (metadata.at("tokenizer.ggml.model").text() != "gpt2") return {};
  const std::vector<std::string>& tokens = metadata.at("tokenizer.ggml.tokens").texts();
  std::vector<int64_t> kinds;
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) kinds = types->integers(1, 6);
  const auto pre = metadata.find("tokenizer.ggml.pre");
  const GgufSplit& split = *find_gguf_split(pre ? pre->text() : "default");
  const ByteLevelJson tokenizer{.added_tokens = added_tokens(tokens, kinds),
                                .pre_tokenizer = split_steps(split.patterns),
                                .post_processor = frame_step(frame_tokens(parts.before, tokens),
                                                             frame_tokens(parts.behind, tokens)),
                                .vocab = vocabulary_object(tokens),
                                .merges = metadata.at("tokenizer.ggml.merges").texts(),
                                .ignore_merges = split.ignore_merges};
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false}};
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    if (const Json text = special_token(parts, name); !text.is_null()) config[name] = text;
  }
  if (!parts.chat.chat_template.empty()) config["chat_template"] = parts.chat.chat_template;
  return {{"tokenizer.json", tokenizer.document().dump(2) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace axle
