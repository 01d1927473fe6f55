#include <utility>

#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/categories.h"

namespace axle::hugging_face {
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
