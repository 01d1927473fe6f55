#include <memory>
#include <utility>

#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/base64.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/chars_map.h"

namespace axle::hugging_face {
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

}  // namespace axle::hugging_face
