#include "data/tokenizers/hugging_face/tokenizer_json.h"

namespace axle {

using Json = nlohmann::ordered_json;

Json ByteLevelJson::document() const {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens},
          {"normalizer", normalizer},
          {"pre_tokenizer", pre_tokenizer},
          {"post_processor", post_processor},
          {"decoder", decoder.is_null() ? byte_level_step(true) : decoder},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", unknown},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", !unknown.is_null()},
            {"byte_fallback", byte_fallback},
            {"ignore_merges", ignore_merges},
            {"vocab", vocab},
            {"merges", merges}}}};
}

Json byte_level_step(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Json split_steps(std::span<const std::string_view> patterns) {
  Json steps = Json::array();
  for (const std::string_view pattern : patterns) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back(byte_level_step(false));
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json replace_step(const std::string& text, const std::string& by) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", by}};
}

Json vocabulary_object(std::span<const std::string> tokens) {
  Json out = Json::object();
  // operator[] would look through all that are there.
  auto& entries = out.get_ref<Json::object_t&>();
  entries.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id)
    static_cast<Json::object_t::Container&>(entries).emplace_back(tokens[id], id);
  return out;
}

Json frame_step(std::span<const FrameToken> before, std::span<const FrameToken> behind) {
  if (before.empty() && behind.empty()) return nullptr;
  Json single = Json::array(), pair = Json::array(), special = Json::object();
  const auto add = [&](Json& to, std::span<const FrameToken> tokens, int64_t type) {
    for (const auto& [id, text] : tokens) {
      to.push_back({{"SpecialToken", {{"id", text}, {"type_id", type}}}});
      special[text] = {{"id", text}, {"ids", {id}}, {"tokens", {text}}};
    }
  };
  const auto add_text = [&](Json& to, const char* name, int64_t type) {
    add(to, before, type);
    to.push_back({{"Sequence", {{"id", name}, {"type_id", type}}}});
    add(to, behind, type);
  };
  add_text(single, "A", 0);
  add_text(pair, "A", 0);
  add_text(pair, "B", 1);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", special}};
}

Json added_token_entry(int64_t id, const std::string& content, bool is_special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", is_special}};
}

}  // namespace axle
