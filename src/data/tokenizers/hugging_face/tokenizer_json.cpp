#include "data/tokenizers/hugging_face/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/pre_tokenizers.h"

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

// The parts of tokenizer.json that take texts apart: added tokens, normalizers, pre-tokenizers.

namespace axle::hugging_face {

AddedToken read_added_token(const JsonView& json) {
  AddedToken out{.text = json.at("content").text(),
                 .special = bool_field(json, "special", false),
                 .single_word = bool_field(json, "single_word", false),
                 .strip_left = bool_field(json, "lstrip", false),
                 .strip_right = bool_field(json, "rstrip", false)};
  out.normalized = bool_field(json, "normalized", !out.special);
  return out;
}

std::vector<AddedToken> read_added_tokens(const JsonView& json, const Vocabulary& vocabulary) {
  std::vector<AddedToken> out;
  std::unordered_map<std::string, size_t> known;  // by text
  int64_t next_id = vocabulary.num_tokens();
  for (const JsonView& row : json.elements()) {
    AddedToken token = read_added_token(row);
    const JsonView id = row.at("id");
    token.id = static_cast<int32_t>(id.integer(0, Vocabulary::kMaxId));
    if (token.text.empty()) continue;
    const auto [same, is_new] = known.try_emplace(token.text, out.size());
    const int64_t own = !is_new
                            ? out[same->second].id
                            : vocabulary.find(token.text).value_or(static_cast<int32_t>(next_id));
    if (token.id != own)
      id.fail(fmt::format("{}, the id of '{}' by the vocabulary", own, printable(token.text)));
    next_id = std::max(next_id, own + 1);
    if (is_new)
      out.push_back(std::move(token));
    else
      out[same->second] = std::move(token);
  }
  return out;
}

namespace {

Normalizer read_bert(const JsonView& json) {
  const bool lower_case = bool_field(json, "lowercase", true);
  return BertNormalizer{.clean_text = bool_field(json, "clean_text", true),
                        .space_chinese = bool_field(json, "handle_chinese_chars", true),
                        .strip_accents = bool_field(json, "strip_accents", lower_case),
                        .lower_case = lower_case};
}

Normalizer read_precompiled(const JsonView& json) {
  const auto text = field(json, "precompiled_charsmap");
  const auto bytes = text ? from_base64(text->text()) : std::string();
  if (!bytes) text->fail("bytes in base 64");
  if (bytes->empty()) return [](std::string&) {};
  try {
    const auto map = std::make_shared<const CharsMap>(*bytes, "expected a tokenizer.json");
    return [map](std::string& normalized) { map->normalize(normalized); };
  } catch (const DataError& error) {
    throw JsonError(text->path() + ": " + error.what());
  }
}

void read_into(std::vector<Normalizer>& out, const JsonView& json) {
  const JsonView type = json.at("type");
  const std::string& name = type.text();
  if (name == "Sequence") {
    for (const JsonView& part : json.at("normalizers").elements()) read_into(out, part);
  } else if (name == "NFC") {
    out.push_back(to_normal_form(NormalForm::kNfc));
  } else if (name == "NFD") {
    out.push_back(to_normal_form(NormalForm::kNfd));
  } else if (name == "NFKC") {
    out.push_back(to_normal_form(NormalForm::kNfkc));
  } else if (name == "NFKD") {
    out.push_back(to_normal_form(NormalForm::kNfkd));
  } else if (name == "Lowercase") {
    out.push_back(to_lower_case());
  } else if (name == "Strip") {
    out.push_back(
        strip(bool_field(json, "strip_left", true), bool_field(json, "strip_right", true)));
  } else if (name == "StripAccents") {
    out.push_back(strip_accents());
  } else if (name == "Replace") {
    Pattern pattern = pattern_field(json, "pattern");
    std::string by = json.at("content").text();
    out.push_back(pattern.regex ? replace_pattern(*std::move(pattern.regex), std::move(by))
                                : replace_text(std::move(pattern.text), std::move(by)));
  } else if (name == "Prepend") {
    out.push_back(prepend(json.at("prepend").text()));
  } else if (name == "BertNormalizer") {
    out.push_back(read_bert(json));
  } else if (name == "Precompiled") {
    out.push_back(read_precompiled(json));
  } else if (name == "Nmt") {
    out.push_back(nmt());
  } else if (name == "ByteLevel") {
    out.push_back([](std::string& text) { text = to_byte_level(text); });
  } else {
    type.fail(
        "one of Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend, "
        "BertNormalizer, Precompiled, Nmt, ByteLevel");
  }
}

}  // namespace

std::vector<Normalizer> read_normalizers(const JsonView& json) {
  std::vector<Normalizer> out;
  read_into(out, json);
  return out;
}

namespace {

bool is_bert_punctuation(char32_t c) {
  const bool is_ascii = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
                        (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return is_ascii || is_punctuation(c);
}

PrependScheme scheme_of(const JsonView& json) {
  if (!bool_field(json, "add_prefix_space", true)) return PrependScheme::kNever;
  return enum_field(json, "prepend_scheme", PrependScheme::kAlways);
}

class Reader {
 public:
  explicit Reader(PreTokenizers& out) : out_(out) {}

  void read(const JsonView& json) {
    const JsonView type = json.at("type");
    const std::string& name = type.text();
    if (name == "Sequence") {
      for (const JsonView& part : json.at("pretokenizers").elements()) read(part);
    } else if (name == "ByteLevel") {
      if (bool_field(json, "add_prefix_space", true)) add(add_prefix_space());
      if (bool_field(json, "use_regex", true)) add(gpt2_split());
      add_bytes();
    } else if (name == "Split") {
      read_split(json);
    } else if (name == "Digits") {
      add(split_at_characters(is_number, bool_field(json, "individual_digits", false)
                                             ? SplitBehavior::kIsolated
                                             : SplitBehavior::kContiguous));
    } else if (name == "Metaspace") {
      json.at("replacement");
      add(metaspace(short_text_field(json, "replacement", ""), scheme_of(json),
                    bool_field(json, "split", true)));
    } else if (name == "Whitespace") {
      add(split_at_pattern(UnicodeRegex(R"(\w+|[^\w\s]+)", RegexSyntax::kRust),
                           SplitBehavior::kRemoved, true));
    } else if (name == "WhitespaceSplit") {
      add(split_at_characters(is_white_space, SplitBehavior::kRemoved));
    } else if (name == "BertPreTokenizer") {
      add(split_at_characters(is_white_space, SplitBehavior::kRemoved));
      add(split_at_characters(is_bert_punctuation, SplitBehavior::kIsolated));
    } else if (name == "Punctuation") {
      add(split_at_characters(is_bert_punctuation,
                              enum_field(json, "behavior", SplitBehavior::kIsolated)));
    } else if (name == "CharDelimiterSplit") {
      add(split_at_text(json.at("delimiter").text(), SplitBehavior::kRemoved));
    } else if (name == "FixedLength") {
      const auto length = field(json, "length");
      add(fixed_length(length ? static_cast<size_t>(length->integer(1, INT32_MAX)) : 5));
    } else {
      type.fail(
          "one of Sequence, ByteLevel, Split, Digits, Metaspace, Whitespace, WhitespaceSplit, "
          "BertPreTokenizer, Punctuation, CharDelimiterSplit, FixedLength");
    }
  }

 private:
  void add(PreTokenizer step) {
    if (std::exchange(out_.ends_in_bytes, false)) out_.steps.push_back(map_bytes());
    out_.steps.push_back(std::move(step));
  }
  void add_bytes() {
    if (out_.ends_in_bytes) out_.steps.push_back(map_bytes());
    out_.ends_in_bytes = true;
  }
  void read_split(const JsonView& json) {
    Pattern pattern = pattern_field(json, "pattern");
    const auto behavior = enum_field(json, "behavior", SplitBehavior::kIsolated);
    const bool inverted = bool_field(json, "invert", false);
    add(pattern.regex ? split_at_pattern(*std::move(pattern.regex), behavior, inverted)
                      : split_at_text(std::move(pattern.text), behavior, inverted));
  }

  PreTokenizers& out_;
};

}  // namespace

PreTokenizers read_pre_tokenizers(const JsonView& json) {
  PreTokenizers out;
  Reader(out).read(json);
  return out;
}

}  // namespace axle::hugging_face
