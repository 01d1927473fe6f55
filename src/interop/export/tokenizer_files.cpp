#include "interop/export/tokenizer_files.h"

#include <array>
#include <nlohmann/json.hpp>

#include "config/document/serialize.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kJson = "tokenizer.json", kModel = "tokenizer.model";
constexpr auto kSiblings = std::to_array<std::string_view>(
    {kJson, kModel, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
     "vocab.json", "merges.txt", "chat_template.jinja"});

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
  return {{std::string(kJson), tokenizer.dump(2) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace

std::map<std::string, std::string> tokenizer_files(const Child<Tokenizer>& tokenizer) {
  if (!tokenizer) return {};
  if (tokenizer.get_if<ByteTokenizer>()) return files_of_bytes();
  const Json document = to_json(tokenizer);
  if (!document.contains("path") || !document["path"].is_string()) return {};
  const fs::path file = path_of_text(document["path"].get<std::string>());
  std::map<std::string, std::string> out;
  if (file.filename() == kJson || file.filename() == kModel) {
    for (const std::string_view name : kSiblings) {
      const fs::path sibling = file.parent_path() / name;
      if (path_exists(sibling)) out.emplace(name, read_file(sibling));
    }
  } else if (tokenizer.get_if<SentencePieceTokenizer>()) {
    out.emplace(kModel, read_file(file));
  }
  return out;
}

}  // namespace axle
