#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text/unicode.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/byte_pair_model.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/parts/unigram_model.h"

namespace axle::hugging_face {
namespace {

// Reads the object of tokens without a path for each of them: there may be a million.
Vocabulary read_vocabulary(const JsonView& json) {
  if (!json.json().is_object()) json.fail("an object of tokens");
  Vocabulary out;
  for (const auto& [token, id] : json.json().get_ref<const nlohmann::ordered_json::object_t&>()) {
    const auto value = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (value < 0 || value > Vocabulary::kMaxId) {
      throw JsonError(fmt::format("{}['{}']: expected an id of 0 to {}, got {}", json.path(),
                                  printable(token), Vocabulary::kMaxId, printable(id.dump())));
    }
    out.add(token, static_cast<int32_t>(value));
  }
  return out;
}

// For models that look for the tokens that a text begins with.
void check_sizes(const Vocabulary& vocabulary, const JsonView& json) {
  for (int64_t id = 0; id < vocabulary.end_id(); ++id) {
    const std::string* const token = vocabulary.token(id);
    if (!token || token->size() <= kMaxTokenBytes) continue;
    throw JsonError(fmt::format("{}: expected tokens of at most {} bytes, got {} for '{}'",
                                json.path(), kMaxTokenBytes, token->size(), printable(*token)));
  }
}

std::optional<int32_t> token_field(const JsonView& json, std::string_view key,
                                   const Vocabulary& vocabulary) {
  const auto found = field(json, key);
  if (!found) return std::nullopt;
  const auto id = vocabulary.find(found->text());
  if (!id) found->fail("a token of the vocabulary");
  return id;
}

// Returns the two tokens of a merge: a list, or a text with a space between them.
std::optional<std::pair<std::string_view, std::string_view>> merge_of(
    const nlohmann::ordered_json& merge) {
  using Text = const std::string&;
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return std::pair<std::string_view, std::string_view>{merge[0].get_ref<Text>(),
                                                         merge[1].get_ref<Text>()};
  if (!merge.is_string()) return std::nullopt;
  return two_tokens(merge.get_ref<Text>());
}

MergeTable read_merges(const JsonView& json, const Vocabulary& vocabulary,
                       std::string_view prefix) {
  if (!json.json().is_array()) json.fail("a list of merges");
  MergeTable out;
  std::string whole;
  int32_t rank = 0;
  for (const auto& merge : json.json()) {
    const auto fail = [&](std::string_view expected) {
      throw JsonError(fmt::format("{}[{}]: expected {}, got {}", json.path(), rank, expected,
                                  printable(merge.dump())));
    };
    if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) continue;
    const auto pair = merge_of(merge);
    if (!pair) fail("two tokens");
    const auto& [left, right] = *pair;
    const auto left_id = vocabulary.find(left), right_id = vocabulary.find(right);
    if (!left_id || !right_id) fail("two tokens of the vocabulary");
    whole.assign(left).append(right.substr(std::min(prefix.size(), right.size())));
    const auto id = vocabulary.find(whole);
    if (!id) fail("two tokens whose union is in the vocabulary");
    out.add(*left_id, *right_id, {rank++, *id});
  }
  return out;
}

std::unique_ptr<TokenModel> read_byte_pairs(const JsonView& json, PreTokenizers& pre) {
  using Symbols = BytePairModel::Symbols;
  if (const auto dropout = field(json, "dropout"); dropout && dropout->json() != 0.0)
    dropout->fail("null or 0, which gives a text the same ids each time");
  Vocabulary vocabulary = read_vocabulary(json.at("vocab"));
  BytePairModel::Options options{
      .ignore_merges = bool_field(json, "ignore_merges", false),
      .byte_fallback = bool_field(json, "byte_fallback", false),
      .unknown = token_field(json, "unk_token", vocabulary),
      .fuse_unknown = bool_field(json, "fuse_unk", false),
      .continuing_prefix = short_text_field(json, "continuing_subword_prefix", ""),
      .end_suffix = short_text_field(json, "end_of_word_suffix", "")};
  const bool is_plain =
      options.continuing_prefix.empty() && options.end_suffix.empty() && !options.byte_fallback;
  if (is_plain && std::exchange(pre.ends_in_bytes, false)) options.symbols = Symbols::kByteLevel;
  MergeTable merges = read_merges(json.at("merges"), vocabulary, options.continuing_prefix);
  return std::make_unique<BytePairModel>(std::move(vocabulary), std::move(merges),
                                         std::move(options));
}

// Returns what Hugging Face's library reads for a score: it divides the digits by a power of ten,
// which rounds twice. Of ways to cut a text that are as good, the last bit of a score decides.
double score_as_read(double score) {
  char buffer[32];
  const char* const end =
      std::to_chars(buffer, std::end(buffer), std::abs(score), std::chars_format::scientific).ptr;
  const std::string_view text(buffer, end);  // such as 3.9173871401452196e+00
  const size_t digits_size = text.find('e');
  const bool is_small = text[digits_size + 1] == '-';
  int exponent = 0;
  std::from_chars(buffer + digits_size + 2, end, exponent);
  if (is_small) exponent = -exponent;
  uint64_t digits = 0;
  for (const char c : text.substr(0, digits_size))
    if (c != '.') digits = 10 * digits + static_cast<uint64_t>(c - '0');
  if (digits_size > 1) exponent -= static_cast<int>(digits_size) - 2;
  if (exponent >= 0 || exponent < -300) return score;
  const std::string power_text = fmt::format("1e{}", -exponent);
  double power = 1;
  std::from_chars(power_text.data(), power_text.data() + power_text.size(), power);
  return std::copysign(static_cast<double>(digits) / power, score);
}

std::unique_ptr<TokenModel> read_unigram(const JsonView& json) {
  const JsonView tokens = json.at("vocab");
  if (!tokens.json().is_array()) tokens.fail("a list of tokens");
  if (tokens.json().empty()) tokens.fail("tokens");
  Vocabulary vocabulary;
  std::vector<double> scores;
  for (const auto& row : tokens.json()) {
    const bool is_row =
        row.is_array() && row.size() == 2 && row[0].is_string() && row[1].is_number();
    if (!is_row || !std::isfinite(row[1].get<double>()))
      throw JsonError(fmt::format("{}[{}]: expected a token and its score, got {}", tokens.path(),
                                  scores.size(), printable(row.dump())));
    vocabulary.add(row[0].get<std::string>(), static_cast<int32_t>(scores.size()));
    scores.push_back(score_as_read(row[1].get<double>()));
  }
  check_sizes(vocabulary, tokens);
  UnigramModel::Options options{.byte_fallback = bool_field(json, "byte_fallback", false)};
  if (const auto unknown = field(json, "unk_id"))
    options.unknown = static_cast<int32_t>(unknown->integer(0, std::ssize(scores) - 1));
  return std::make_unique<UnigramModel>(std::move(vocabulary), std::move(scores), options);
}

std::unique_ptr<TokenModel> read_word_pieces(const JsonView& json) {
  Vocabulary vocabulary = read_vocabulary(json.at("vocab"));
  check_sizes(vocabulary, json.at("vocab"));
  json.at("unk_token").text();
  WordPieceModel::Options options{
      .unknown = *token_field(json, "unk_token", vocabulary),
      .continuing_prefix = short_text_field(json, "continuing_subword_prefix", "##")};
  if (const auto most = field(json, "max_input_chars_per_word"))
    options.max_characters = most->integer(0, INT32_MAX);
  return std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(options));
}

// Old files do not name the type.
std::string type_of(const JsonView& json) {
  if (const auto type = field(json, "type")) return type->text();
  if (json.find("merges")) return "BPE";
  if (json.at("vocab").json().is_array()) return "Unigram";
  return json.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<TokenModel> read_model(const JsonView& json, PreTokenizers& pre_tokenizers) {
  const std::string type = type_of(json);
  std::unique_ptr<TokenModel> out;
  if (type == "BPE") {
    out = read_byte_pairs(json, pre_tokenizers);
  } else if (type == "Unigram") {
    out = read_unigram(json);
  } else if (type == "WordPiece") {
    out = read_word_pieces(json);
  } else if (type == "WordLevel") {
    Vocabulary vocabulary = read_vocabulary(json.at("vocab"));
    const auto named = field(json, "unk_token");
    const auto unknown = named ? vocabulary.find(named->text()) : std::nullopt;
    out = std::make_unique<WordLevelModel>(std::move(vocabulary), unknown);
  } else {
    json.at("type").fail("one of BPE, Unigram, WordPiece, WordLevel");
  }
  if (out->vocabulary().num_tokens() == 0) json.at("vocab").fail("tokens");
  if (std::exchange(pre_tokenizers.ends_in_bytes, false))
    pre_tokenizers.steps.push_back(map_bytes());
  return out;
}

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

namespace {

int32_t id_of(const JsonView& json) {
  return static_cast<int32_t>(json.integer(0, Vocabulary::kMaxId));
}

// The fields "cls" and "sep" are a token and its id.
int32_t id_of_pair(const JsonView& pair) {
  const auto elements = pair.elements();
  if (elements.size() != 2) pair.fail("a token and its id");
  return id_of(elements[1]);
}

// Each text gets them; a file may name the same ids again and again.
constexpr size_t kMostIds = 1024;

void check_size(const Frame& frame, size_t more, const JsonView& where) {
  if (frame.before.size() + frame.behind.size() + more > kMostIds)
    where.fail(fmt::format("post-processors that put at most {} ids around a text", kMostIds));
}

// A text in the middle of others.
void read_template(Frame& out, const JsonView& json) {
  const JsonView tokens = json.at("special_tokens"), single = json.at("single");
  if (single.json().size() > kMostIds)
    single.fail(fmt::format("a template of at most {} parts", kMostIds));
  std::vector<int32_t> before, behind;
  bool is_behind = false;
  for (const JsonView& part : single.elements()) {
    if (part.find("Sequence")) {
      if (is_behind) part.fail("a template with one text");
      is_behind = true;
      continue;
    }
    const JsonView named = part.at("SpecialToken").at("id");
    const JsonView ids = tokens.at(named.text()).at("ids");
    check_size(out, before.size() + behind.size() + ids.json().size(), ids);
    for (const JsonView& id : ids.elements()) (is_behind ? behind : before).push_back(id_of(id));
  }
  out.before.insert(out.before.begin(), before.begin(), before.end());
  out.behind.insert(out.behind.end(), behind.begin(), behind.end());
}

void read_into(Frame& out, const JsonView& json) {
  const JsonView type = json.at("type");
  const std::string& name = type.text();
  if (name == "Sequence") {
    for (const JsonView& part : json.at("processors").elements()) read_into(out, part);
  } else if (name == "TemplateProcessing") {
    read_template(out, json);
  } else if (name == "BertProcessing" || name == "RobertaProcessing") {
    check_size(out, 2, json);
    out.before.insert(out.before.begin(), id_of_pair(json.at("cls")));
    out.behind.push_back(id_of_pair(json.at("sep")));
  } else if (name != "ByteLevel") {  // which changes offsets alone
    type.fail("one of Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
  }
}

}  // namespace

Frame read_frame(const JsonView& json) {
  Frame out;
  read_into(out, json);
  return out;
}

}  // namespace axle::hugging_face
