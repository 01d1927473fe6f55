#include "data/tokenizers/training/trained_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/tokenizers/hugging_face/byte_level_json.h"
#include "data/tokenizers/training/split_families.h"

namespace axle {

using Json = nlohmann::ordered_json;

namespace {

// Words with the space before them, also before a text, and line ends.
constexpr const char* kWordSteps = R"({"type": "Sequence", "pretokenizers": [
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": true},
    {"type": "Split", "pattern": {"Regex": "\n+"}, "behavior": "Isolated", "invert": false}]})";
constexpr const char* kWordDecoder = R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

}  // namespace

std::map<std::string, std::string> trained_files(const TokenizerTraining& training,
                                                 int64_t num_special, const MergeLearner& learner) {
  const std::vector<std::string>& tokens = learner.tokens();
  Json added = Json::array(), merges = Json::array();
  for (int64_t id = 0; id < num_special; ++id)
    added.push_back(added_token_entry(id, tokens[static_cast<size_t>(id)], true));
  // Readers take a line "#version ..." for no merge, unless merges are lists.
  const auto is_version = [&](const MergeLearner::Merge& merge) {
    return tokens[static_cast<size_t>(merge.left)].starts_with("#version");
  };
  const bool are_lists = std::ranges::any_of(learner.merges(), is_version);
  for (const auto& [left, right] : learner.merges()) {
    const std::string &a = tokens[static_cast<size_t>(left)],
                      &b = tokens[static_cast<size_t>(right)];
    merges.push_back(are_lists ? Json::array({a, b}) : Json(a + " " + b));
  }
  std::vector<FrameToken> before;
  if (!training.bos.empty()) {
    const auto at = std::ranges::find(tokens, training.bos) - tokens.begin();
    before.push_back({static_cast<int32_t>(at), training.bos});
  }
  ByteLevelJson tokenizer{.added_tokens = std::move(added),
                          .post_processor = frame_step(before, {}),
                          .vocab = vocabulary_object(tokens),
                          .merges = std::move(merges)};
  if (training.alphabet == Alphabet::kBytes) {
    tokenizer.pre_tokenizer = split_steps(split_patterns_of(training.pattern, "--pattern"));
  } else {
    tokenizer.pre_tokenizer = Json::parse(kWordSteps);
    tokenizer.decoder = Json::parse(kWordDecoder);
    tokenizer.byte_fallback = true;
  }
  Json config;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["clean_up_tokenization_spaces"] = false;
  const auto name = [&](const char* key, const std::string& text) {
    if (!text.empty()) config[key] = text;
  };
  name("bos_token", training.bos);
  name("eos_token", training.eos);
  name("pad_token", training.pad);
  std::map<std::string, std::string> out;
  out["tokenizer.json"] = tokenizer.document().dump(2) + "\n";
  out["tokenizer_config.json"] = config.dump(2) + "\n";
  return out;
}

}  // namespace axle
