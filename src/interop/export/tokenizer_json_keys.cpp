#include "interop/export/tokenizer_json_keys.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text/json.h"
#include "data/tokenizers/gguf/split_names.h"
#include "data/tokenizers/ranks/families.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

enum TokenType : int32_t { kNormal = 1, kUnused = 5 };

// Adds the patterns of a step that cuts text; false for a step that GGUF has no form for.
bool add_patterns(const Json& step, std::vector<std::string>& out) {
  if (step.is_null()) return true;
  const std::string type = step.value("type", "");
  if (type == "Sequence") {
    return std::ranges::all_of(step.value("pretokenizers", Json::array()),
                               [&](const Json& inner) { return add_patterns(inner, out); });
  }
  if (type == "ByteLevel") {
    if (step.value("use_regex", true)) out.emplace_back(split_patterns::kGpt2);
    return !step.value("add_prefix_space", true);
  }
  if (type == "Digits" && step.value("individual_digits", false)) {
    out.emplace_back(R"(\p{N})");
    return true;
  }
  if (type != "Split" || step.value("behavior", "") != "Isolated" || step.value("invert", false))
    return false;
  const Json pattern = step.value("pattern", Json::object());
  if (!pattern.contains("Regex")) return false;
  out.push_back(pattern["Regex"].get<std::string>());
  return true;
}

bool has_no_normalizer(const Json& file) {
  const Json normalizer = file.value("normalizer", Json());
  return normalizer.is_null() || normalizer.value("type", "") == "NFC";  // llama.cpp leaves it out
}

// True for added tokens that take spaces or words with them, for which GGUF has no form.
bool strips_or_joins(const Json& added) {
  return std::ranges::any_of(std::to_array({"lstrip", "rstrip", "single_word"}),
                             [&](const char* flag) { return added.value(flag, false); });
}

// Writes the tokens of the model with their types.
void set_tokens(const Json& file, GgufMetadata& out) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  for (const auto& [text, id] : file.at("model").at("vocab").items()) {
    const auto at = id.get<size_t>();
    for (size_t next = tokens.size(); next <= at; ++next) {
      tokens.push_back("[PAD" + std::to_string(next) + "]");
      types.push_back(kUnused);
    }
    tokens[at] = text;
    types[at] = kNormal;
  }
  out.set("tokenizer.ggml.tokens", tokens);
  out.set("tokenizer.ggml.token_type", types);
}

std::vector<std::string> merges_of(const Json& model) {
  std::vector<std::string> out;
  for (const Json& merge : model.at("merges")) {
    out.push_back(merge.is_string()
                      ? merge.get<std::string>()
                      : merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
  }
  return out;
}

}  // namespace

GgufMetadata gguf_keys_of_tokenizer_json(const std::string& path) {
  const Json file =
      json_as<DataError>(path, [&] { return read_json(read_file(path_of_text(path))); });
  const Json& model = file.at("model");
  std::vector<std::string> patterns;
  if (model.value("type", "BPE") != "BPE" || model.value("byte_fallback", false) ||
      !has_no_normalizer(file) || !add_patterns(file.value("pre_tokenizer", Json()), patterns))
    return {};
  if (std::ranges::any_of(file.value("added_tokens", Json::array()), strips_or_joins)) return {};
  const auto name = gguf_split_name(patterns, model.value("ignore_merges", false));
  if (!name) return {};
  GgufMetadata out(path);
  out.set("tokenizer.ggml.model", "gpt2");
  out.set("tokenizer.ggml.pre", std::string(*name));
  set_tokens(file, out);
  out.set("tokenizer.ggml.merges", merges_of(model));
  return out;
}

}  // namespace axle
