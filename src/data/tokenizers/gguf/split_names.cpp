#include "data/tokenizers/gguf/split_names.h"

#include <algorithm>

#include "data/tokenizers/ranks/families.h"

namespace axle {
namespace {

constexpr std::string_view kDigit = R"(\p{N})", kDigits = R"(\p{N}+)",
                           kThreeDigits = R"([0-9][0-9][0-9])", kUpToThreeDigits = R"(\p{N}{1,3})";
// Punctuation and some symbols; Falcon cuts at a backtick, too.
constexpr std::string_view kPunctuation = R"([\p{P}\$\+<=>\^~\|]+)",
                           kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kDeepseekChinese =
    "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+";
constexpr std::string_view kDeepseekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Row {
  std::vector<std::string_view> names;
  GgufSplit split;
};

const std::vector<Row>& rows() {
  using namespace split_patterns;
  static const std::vector<Row> table = {
      {{"default"}, {.patterns = {kPunctuation, kGpt2, kDigits, kThreeDigits}}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion"}, {.patterns = {kGpt2}}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       {.patterns = {kDigit, kGpt2}}},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3"},
       {.patterns = {kLlama3}, .ignore_merges = true, .adds_bos = true}},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {.patterns = {kLlama3}}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"}, {.patterns = {kQwen}}},
      {{"qwen35"}, {.patterns = {kQwen35}}},
      {{"gpt-4o", "llama4"}, {.patterns = {kO200k}}},
      {{"tekken"}, {.patterns = {kTekkenWords}, .ignore_merges = true, .adds_bos = true}},
      {{"deepseek-v3", "hunyuan-dense"},
       {.patterns = {kUpToThreeDigits, kDeepseekChinese, kDeepseekWords}}},
      {{"falcon"}, {.patterns = {kFalconPunctuation, kGpt2, kThreeDigits}}},
  };
  return table;
}

}  // namespace

const GgufSplit* find_gguf_split(std::string_view name) {
  for (const Row& row : rows()) {
    if (std::ranges::count(row.names, name) > 0) return &row.split;
  }
  return nullptr;
}

std::optional<std::string_view> gguf_split_name(const std::vector<std::string>& patterns,
                                                bool ignore_merges) {
  for (const Row& row : rows()) {
    if (row.split.ignore_merges == ignore_merges &&
        std::ranges::equal(row.split.patterns, patterns))
      return row.names.front();
  }
  return {};
}

std::string gguf_split_names() {
  std::string out;
  for (const Row& row : rows()) {
    for (const std::string_view name : row.names)
      out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

}  // namespace axle
