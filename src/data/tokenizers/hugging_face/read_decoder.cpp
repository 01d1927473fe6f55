#include <utility>

#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"

namespace axle::hugging_face {
namespace {

// Reads the steps in their order. After "Fuse", they see the whole text.
class Reader {
 public:
  explicit Reader(TokenDecoder& out) : out_(out) {}

  void read(const JsonView& json) {
    const JsonView type = json.at("type");
    const std::string& name = type.text();
    if (name == "Sequence") {
      for (const JsonView& part : json.at("decoders").elements()) read(part);
    } else if (name == "ByteLevel") {
      add(type, decode_byte_level);
      out_.invalid_bytes = InvalidBytes::kEachPart;
    } else if (name == "ByteFallback") {
      add(type, decode_byte_token);
    } else if (name == "Fuse") {
      is_fused_ = true;
    } else if (name == "Strip") {
      read_strip(json);
    } else if (name == "Replace") {
      Pattern pattern = pattern_field(json, "pattern");
      std::string by = json.at("content").text();
      add(type, pattern.regex ? replace_pattern(*std::move(pattern.regex), std::move(by))
                              : replace_text(std::move(pattern.text), std::move(by)));
    } else if (name == "Metaspace") {
      add(type, replace_text(json.at("replacement").text(), " "));
      const bool is_never =
          !bool_field(json, "add_prefix_space", true) ||
          enum_field(json, "prepend_scheme", PrependScheme::kAlways) == PrependScheme::kNever;
      if (!is_never) out_.leading_space = LeadingSpace::kDropOne;
    } else if (name == "WordPiece") {
      add(type,
          decode_word_piece(text_field(json, "prefix", "##"), bool_field(json, "cleanup", true)));
      out_.leading_space = LeadingSpace::kDropOne;
    } else {
      type.fail(
          "one of Sequence, ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace, WordPiece");
    }
  }

 private:
  void add(const JsonView& type, std::function<void(std::string&)> step) {
    if (is_fused_) type.fail("Strip alone behind Fuse");
    out_.steps.push_back(std::move(step));
  }
  void read_strip(const JsonView& json) {
    const std::string& text = json.at("content").text();
    const int64_t left = json.at("start").integer(0, INT32_MAX),
                  right = json.at("stop").integer(0, INT32_MAX);
    if (!is_fused_)
      return out_.steps.push_back(
          strip_text(text, static_cast<size_t>(left), static_cast<size_t>(right)));
    if (left == 0 && right == 0) return;
    if (text != " " || left != 1 || right != 0)
      json.fail("a Strip behind Fuse that takes one space from the start");
    out_.leading_space = LeadingSpace::kDropOne;
  }

  TokenDecoder& out_;
  bool is_fused_ = false;
};

}  // namespace

TokenDecoder read_decoder(const JsonView& json) {
  TokenDecoder out;
  Reader(out).read(json);
  return out;
}

}  // namespace axle::hugging_face
