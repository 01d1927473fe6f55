#include "interop/export/exported_tokenizer.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "config/document/serialize.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer_json.h"
#include "data/tokenizers/hugging_face/byte_level_json.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *kJson = "tokenizer.json", *kModel = "tokenizer.model",
                     *kConfig = "tokenizer_config.json", *kChatTemplateFile = "chat_template.jinja";

// A byte-level model without merges.
std::map<std::string, std::string> files_of_bytes() {
  const std::string boundary = "<|endoftext|>";
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[to_byte_level(std::string(1, static_cast<char>(byte)))] = byte;
  const ByteLevelJson tokenizer{
      .added_tokens = Json::array({added_token_entry(ByteTokenizer::kBoundary, boundary, true)}),
      .pre_tokenizer = byte_level_step(false),
      .post_processor = nullptr,
      .vocab = std::move(vocab),
      .merges = Json::array()};
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", boundary},
                    {"eos_token", boundary},
                    {"clean_up_tokenization_spaces", false}};
  return {{kJson, tokenizer.document().dump(2) + "\n"}, {kConfig, config.dump(2) + "\n"}};
}

std::map<std::string, std::string> own_files(const Child<Tokenizer>& tokenizer) {
  if (!tokenizer) return {};
  if (tokenizer.get_if<ByteTokenizer>()) return files_of_bytes();
  const Json document = to_json(tokenizer);
  if (!document.contains("path") || !document["path"].is_string()) return {};
  const fs::path file = path_of_text(document["path"].get<std::string>());
  if (tokenizer.get_if<GgufTokenizer>()) return gguf_tokenizer_json(file);
  const std::string name = tokenizer.get_if<HuggingFaceTokenizer>()     ? kJson
                           : tokenizer.get_if<SentencePieceTokenizer>() ? kModel
                                                                        : file.filename().string();
  std::map<std::string, std::string> out;
  if (name != kJson && name != kModel) return out;
  for (const fs::path& one : tokenizer_files(file, tokenizer))
    out.emplace(one == file ? name : one.filename().string(), read_file(one));
  return out;
}

// All versions of the reader know the field; later ones prefer the file.
void set_chat_template(const std::string& text, std::map<std::string, std::string>& files) {
  std::string& config = files[kConfig];
  Json fields =
      json_as<DataError>(kConfig, [&] { return config.empty() ? Json() : read_json(config); });
  fields["chat_template"] = text;
  config = fields.dump(2) + "\n";
  if (const auto file = files.find(kChatTemplateFile); file != files.end()) file->second = text;
}

}  // namespace

std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer,
                                                      const std::string& chat_template) {
  std::map<std::string, std::string> out = own_files(tokenizer);
  if (!chat_template.empty() && !out.empty()) set_chat_template(chat_template, out);
  return out;
}

}  // namespace axle
