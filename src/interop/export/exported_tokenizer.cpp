#include "interop/export/exported_tokenizer.h"

#include <nlohmann/json.hpp>

#include "config/document/serialize.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer_json.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *kJson = "tokenizer.json", *kModel = "tokenizer.model";

// A byte-level model without merges.
std::map<std::string, std::string> files_of_bytes() {
  const std::string boundary = "<|endoftext|>";
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[to_byte_level(std::string(1, static_cast<char>(byte)))] = byte;
  const Json tokenizer{{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens",
                        {{{"id", ByteTokenizer::kBoundary},
                          {"content", boundary},
                          {"single_word", false},
                          {"lstrip", false},
                          {"rstrip", false},
                          {"normalized", false},
                          {"special", true}}}},
                       {"normalizer", nullptr},
                       {"pre_tokenizer",
                        {{"type", "ByteLevel"},
                         {"add_prefix_space", false},
                         {"trim_offsets", true},
                         {"use_regex", false}}},
                       {"post_processor", nullptr},
                       {"decoder",
                        {{"type", "ByteLevel"},
                         {"add_prefix_space", true},
                         {"trim_offsets", true},
                         {"use_regex", true}}},
                       {"model",
                        {{"type", "BPE"},
                         {"dropout", nullptr},
                         {"unk_token", nullptr},
                         {"continuing_subword_prefix", nullptr},
                         {"end_of_word_suffix", nullptr},
                         {"fuse_unk", false},
                         {"byte_fallback", false},
                         {"ignore_merges", false},
                         {"vocab", vocab},
                         {"merges", Json::array()}}}};
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", boundary},
                    {"eos_token", boundary},
                    {"clean_up_tokenization_spaces", false}};
  return {{kJson, tokenizer.dump(2) + "\n"}, {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace

std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer) {
  if (!tokenizer) return {};
  if (tokenizer.get_if<ByteTokenizer>()) return files_of_bytes();
  const Json document = to_json(tokenizer);
  if (!document.contains("path") || !document["path"].is_string()) return {};
  const fs::path file = path_of_text(document["path"].get<std::string>());
  if (tokenizer.get_if<GgufTokenizer>()) return gguf_tokenizer_json(file);
  std::map<std::string, std::string> out;
  if (file.filename() == kJson || file.filename() == kModel) {
    for (const fs::path& one : tokenizer_files(file))
      out.emplace(one.filename().string(), read_file(one));
  } else if (tokenizer.get_if<SentencePieceTokenizer>()) {
    out.emplace(kModel, read_file(file));
  }
  return out;
}

}  // namespace axle
