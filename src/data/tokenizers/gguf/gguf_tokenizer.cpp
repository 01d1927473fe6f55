#include "data/tokenizers/gguf/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/byte_pair_model.h"
#include "data/tokenizers/parts/token_model.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/save_gguf.h"

namespace axle {
namespace {

constexpr const char *kModel = "tokenizer.ggml.model", *kTokens = "tokenizer.ggml.tokens",
                     *kMerges = "tokenizer.ggml.merges", *kPre = "tokenizer.ggml.pre";

enum class TokenKind { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// The format has no flags of tokens. Programs that read it know this family by its name: its tokens
// take the white space behind them, but for three.
bool strips_behind(const GgufMetadata& metadata) {
  const auto name = metadata.find("general.name");
  if (!name) return false;
  const std::string lower = lower_case(name->text());
  return lower.find("phi-3") != lower.npos || lower.find("phi3") != lower.npos;
}

// What both kinds of tokenizers have.
struct Tokens {
  Vocabulary vocabulary;
  std::vector<TokenKind> kinds;
  bool strip_behind = false;
  std::string hashed;
};

Tokens read_tokens(const GgufMetadata& metadata) {
  const GgufView view = metadata.at(kTokens);
  const std::vector<std::string>& texts = view.texts();
  if (texts.empty() || std::ssize(texts) > Vocabulary::kMaxId) view.fail("tokens");
  Tokens out;
  std::vector<int64_t> kinds(texts.size(), static_cast<int64_t>(TokenKind::kNormal));
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) {
    kinds = types->integers(1, 6);
    if (kinds.size() != texts.size()) types->fail(fmt::format("{} types", texts.size()));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (find_invalid_utf8(texts[i])) view.fail(fmt::format("tokens in UTF-8, also token {}", id));
    out.kinds.push_back(static_cast<TokenKind>(kinds[i]));
    out.hashed += texts[i] + static_cast<char>(kinds[i]);
    out.vocabulary.add(texts[i], id);
  }
  out.strip_behind = strips_behind(metadata);
  if (out.strip_behind) out.hashed += "strips";
  return out;
}

bool is_true(const GgufMetadata& metadata, std::string_view key, bool otherwise) {
  const auto found = metadata.find(key);
  return found ? found->boolean() : otherwise;
}

std::optional<int32_t> id_at(const GgufMetadata& metadata, std::string_view key,
                             const Vocabulary& vocabulary) {
  const auto found = metadata.find(key);
  if (!found) return std::nullopt;
  return static_cast<int32_t>(found->integer(0, vocabulary.end_id() - 1));
}

// Takes control tokens only by name, and user-defined tokens always.
std::vector<AddedToken> added_tokens(const Tokens& tokens, bool user_defined_are_normalized) {
  constexpr auto kKeepSpaces = std::to_array<std::string_view>({"<unk>", "<s>", "<|endoftext|>"});
  std::vector<AddedToken> out;
  for (size_t i = 0; i < tokens.kinds.size(); ++i) {
    const TokenKind kind = tokens.kinds[i];
    const bool is_special = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
    const auto id = static_cast<int32_t>(i);
    if (is_special || kind == TokenKind::kUserDefined) {
      out.push_back(
          {.text = *tokens.vocabulary.token(id),
           .id = id,
           .special = is_special,
           .strip_right = tokens.strip_behind &&
                          std::ranges::count(kKeepSpaces, *tokens.vocabulary.token(id)) == 0,
           .only_ascii = true,
           .normalized = !is_special && user_defined_are_normalized});
    }
  }
  return out;
}

// What the template may name, and the tokens that end a turn or a message.
ChatSettings read_chat(const GgufMetadata& metadata, const Vocabulary& vocabulary) {
  ChatSettings out;
  if (const auto found = metadata.find("tokenizer.chat_template"))
    out.chat_template = found->text();
  for (const auto& [name, key] : {std::pair{"bos_token", "tokenizer.ggml.bos_token_id"},
                                  std::pair{"eos_token", "tokenizer.ggml.eos_token_id"},
                                  std::pair{"pad_token", "tokenizer.ggml.padding_token_id"},
                                  std::pair{"unk_token", "tokenizer.ggml.unknown_token_id"}}) {
    if (const auto id = id_at(metadata, key, vocabulary))
      out.special_tokens.emplace_back(name, *vocabulary.token(*id));
  }
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = id_at(metadata, key, vocabulary)) out.end_ids.push_back(*id);
  }
  return out;
}

void set_special_ids(const GgufMetadata& metadata, const Vocabulary& vocabulary, bool adds_bos,
                     TokenizerParts& out) {
  out.chat = read_chat(metadata, vocabulary);
  const auto bos = id_at(metadata, "tokenizer.ggml.bos_token_id", vocabulary);
  out.special_ids.eos = id_at(metadata, "tokenizer.ggml.eos_token_id", vocabulary);
  out.special_ids.pad = id_at(metadata, "tokenizer.ggml.padding_token_id", vocabulary);
  if (bos && is_true(metadata, "tokenizer.ggml.add_bos_token", adds_bos)) {
    out.special_ids.bos = bos;
    out.before = {*bos};
  }
  if (out.special_ids.eos && is_true(metadata, "tokenizer.ggml.add_eos_token", false))
    out.behind = {*out.special_ids.eos};
}

MergeTable read_merges(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                       std::string& hashed) {
  const GgufView view = metadata.at(kMerges);
  MergeTable out;
  int32_t rank = 0;
  for (const std::string& merge : view.texts()) {
    const auto pair = two_tokens(merge);
    const auto left = pair ? vocabulary.find(pair->first) : std::nullopt;
    const auto right = pair ? vocabulary.find(pair->second) : std::nullopt;
    const auto both = left && right
                          ? vocabulary.find(std::string(pair->first) += std::string(pair->second))
                          : std::nullopt;
    if (!both)
      view.fail(fmt::format("two tokens of the vocabulary, whose union is one, not '{}'",
                            printable(merge)));
    out.add(*left, *right, {rank++, *both});
    hashed += merge + '\n';
  }
  return out;
}

// Byte-level tokens with merges.
TokenizerParts read_byte_level(const GgufMetadata& metadata, const std::string& path) {
  const auto pre = metadata.find(kPre);
  const GgufSplit* const split = find_gguf_split(pre ? pre->text() : "default");
  if (!split) pre->fail("one of " + gguf_split_names());
  Tokens tokens = read_tokens(metadata);
  MergeTable merges = read_merges(metadata, tokens.vocabulary, tokens.hashed);
  TokenizerParts out{.path = path};
  for (const std::string_view pattern : split->patterns)
    out.pre_tokenizers.push_back(
        split_at_pattern(UnicodeRegex(pattern, RegexSyntax::kRust), SplitBehavior::kIsolated));
  out.added = AddedTokens(added_tokens(tokens, false), {}, path);
  out.decoder = {.steps = {decode_byte_level}, .invalid_bytes = InvalidBytes::kEachPart};
  set_special_ids(metadata, tokens.vocabulary, split->adds_bos, out);
  out.fingerprint = xxh3_64(tokens.hashed + std::string(pre ? pre->text() : "default"));
  out.model = std::make_unique<BytePairModel>(
      std::move(tokens.vocabulary), std::move(merges),
      BytePairModel::Options{.symbols = BytePairModel::Symbols::kByteLevel,
                             .ignore_merges = split->ignore_merges});
  return out;
}

// SentencePiece's merges by score.
TokenizerParts read_scored(const GgufMetadata& metadata, const std::string& path) {
  Tokens tokens = read_tokens(metadata);
  const GgufView view = metadata.at("tokenizer.ggml.scores");
  const std::vector<float> scores = view.numbers();
  if (scores.size() != tokens.kinds.size())
    view.fail(fmt::format("{} scores", tokens.kinds.size()));
  if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); }))
    view.fail("finite scores");
  for (const float score : scores)
    tokens.hashed.append(reinterpret_cast<const char*>(&score), sizeof(score));
  const bool has_prefix = is_true(metadata, "tokenizer.ggml.add_space_prefix", true);
  const Normalizer spaces = replace_text(" ", std::string(kMetaSpace));
  TokenizerParts out{.path = path};
  if (has_prefix) out.normalizers.push_back(prepend(std::string(kMetaSpace)));
  out.normalizers.push_back(spaces);
  // SentencePiece finds what users defined in the spaces that it writes; llama.cpp, and what Phi-3
  // is made from, in the text as it is.
  out.added = AddedTokens(added_tokens(tokens, !tokens.strip_behind), std::span(&spaces, 1), path);
  out.decoder = {.steps = {decode_byte_token, replace_text(std::string(kMetaSpace), " ")},
                 .leading_space = has_prefix ? LeadingSpace::kDropOne : LeadingSpace::kKeep};
  set_special_ids(metadata, tokens.vocabulary, true, out);
  out.fingerprint = xxh3_64(tokens.hashed + (has_prefix ? "prefix" : ""));
  const auto unknown = id_at(metadata, "tokenizer.ggml.unknown_token_id", tokens.vocabulary);
  const std::vector<int32_t> ranks = ranks_of_scores(scores, [&](size_t id) {
    return tokens.kinds[id] == TokenKind::kNormal || tokens.kinds[id] == TokenKind::kUserDefined;
  });
  MergeTable merges = merges_of_unions(tokens.vocabulary, ranks, path);
  out.model = std::make_unique<BytePairModel>(
      std::move(tokens.vocabulary), std::move(merges),
      BytePairModel::Options{.byte_fallback = true, .unknown = unknown, .fuse_unknown = true});
  return out;
}

TokenizerParts read_file_header(const GgufTokenizer::Config& cfg, const Scope& scope) {
  const std::string& path = cfg.path.get();
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}.path: {}", scope.path, problem));
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) {
    throw DataError(fmt::format("{}: expected a file, got {}; set {}.path", path, nothing_at(file),
                                scope.path));
  }
  return storage_error_as<DataError>(
      [&] { return parts_of_gguf(read_gguf_header(FileReader(file)).metadata, path); });
}

}  // namespace

TokenizerParts parts_of_gguf(const GgufMetadata& metadata, const std::string& path) {
  const GgufView model = metadata.at(kModel);
  if (model.text() == "gpt2") return read_byte_level(metadata, path);
  if (model.text() == "llama") return read_scored(metadata, path);
  model.fail("gpt2 or llama");
}

std::string gguf_tokenizer_alone(const std::filesystem::path& file) {
  const GgufMetadata whole =
      storage_error_as<DataError>([&] { return read_gguf_header(FileReader(file)).metadata; });
  GgufMetadata out(file.string());
  for (const auto& [key, value] : whole.entries()) {
    if (key.starts_with("general.") || key.starts_with("tokenizer.")) out.set(key, value);
  }
  return gguf_without_tensors(out);
}

GgufTokenizer::GgufTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : PipelineTokenizer(read_file_header(cfg, scope)) {}

AXLE_REGISTER(GgufTokenizer)

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

namespace {

using Json = nlohmann::ordered_json;

// The text of a special token; null if there is none.
Json special_token(const TokenizerParts& parts, std::string_view name) {
  for (const auto& [key, text] : parts.chat.special_tokens)
    if (key == name) return text;
  return nullptr;
}

Json added_tokens(const TokenizerParts& parts, const std::vector<std::string>& tokens,
                  const std::vector<int64_t>& kinds) {
  Json out = Json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_special = kinds[i] == 2 || kinds[i] == 3;  // unknown, control
    if (!is_special && kinds[i] != 4) continue;              // user-defined
    out.push_back(added_token_entry(static_cast<int64_t>(i), tokens[i], is_special));
    const AddedToken* const added = parts.added.find(static_cast<int32_t>(i));
    out.back()["rstrip"] = added && added->strip_right;
    out.back()["normalized"] = added && added->normalized;
  }
  return out;
}

std::vector<FrameToken> frame_tokens(const std::vector<int32_t>& ids,
                                     const std::vector<std::string>& tokens) {
  std::vector<FrameToken> out;
  for (const int32_t id : ids) out.push_back({id, tokens[id]});
  return out;
}

constexpr int64_t kNormal = 1;

// The merges that join tokens to one of a better score first. Null for unions of equal scores: of
// them the leftmost in a text goes first, and here the one that is named first.
Json merges_by_score(const std::vector<std::string>& tokens, const std::vector<int64_t>& kinds,
                     const std::vector<float>& scores) {
  std::unordered_set<std::string_view> parts;
  std::vector<size_t> unions;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (kinds[id] != kNormal || tokens[id].empty()) continue;
    if (!parts.insert(tokens[id]).second) return nullptr;
    unions.push_back(id);
  }
  std::ranges::stable_sort(unions, std::greater(), [&](size_t id) { return scores[id]; });
  Json out = Json::array();
  std::optional<float> last;
  for (const size_t id : unions) {
    const std::string_view both = tokens[id];
    const size_t num_before = out.size();
    for (size_t cut = utf8_step(both).size; cut < both.size();
         cut += utf8_step(both.substr(cut)).size) {
      if (parts.contains(both.substr(0, cut)) && parts.contains(both.substr(cut)))
        out.push_back({both.substr(0, cut), both.substr(cut)});
    }
    if (out.size() == num_before) continue;
    if (last == scores[id]) return nullptr;
    last = scores[id];
  }
  return out;
}

// The fields of tokenizer.json for tokens with scores; null if there are none.
Json scored_document(const GgufMetadata& metadata, const TokenizerParts& parts) {
  const std::vector<std::string>& tokens = metadata.at("tokenizer.ggml.tokens").texts();
  std::vector<int64_t> kinds(tokens.size(), kNormal);
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) kinds = types->integers(1, 6);
  const bool has_prefix = parts.decoder.leading_space != LeadingSpace::kKeep;
  if (has_prefix && std::ranges::any_of(parts.added.tokens(), &AddedToken::normalized))
    return nullptr;
  const Json spaces = replace_step(" ", std::string(kMetaSpace));
  ByteLevelJson out{
      .added_tokens = added_tokens(parts, tokens, kinds),
      .pre_tokenizer = nullptr,
      .post_processor =
          frame_step(frame_tokens(parts.before, tokens), frame_tokens(parts.behind, tokens)),
      .vocab = vocabulary_object(tokens),
      .merges = merges_by_score(tokens, kinds, metadata.at("tokenizer.ggml.scores").numbers()),
      .byte_fallback = true,
      .decoder = {{"type", "Sequence"},
                  {"decoders",
                   {replace_step(std::string(kMetaSpace), " "),
                    {{"type", "ByteFallback"}},
                    {{"type", "Fuse"}}}}},
      .normalizer = spaces,
      .unknown = special_token(parts, "unk_token")};
  if (out.merges.is_null()) return nullptr;
  if (has_prefix) {
    out.normalizer = {{"type", "Sequence"},
                      {"normalizers", {{{"type", "Prepend"}, {"prepend", kMetaSpace}}, spaces}}};
    out.decoder["decoders"].push_back(
        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  return out.document();
}

Json byte_level_document(const GgufMetadata& metadata, const TokenizerParts& parts) {
  const std::vector<std::string>& tokens = metadata.at("tokenizer.ggml.tokens").texts();
  std::vector<int64_t> kinds;
  if (const auto types = metadata.find("tokenizer.ggml.token_type")) kinds = types->integers(1, 6);
  const auto pre = metadata.find("tokenizer.ggml.pre");
  const GgufSplit& split = *find_gguf_split(pre ? pre->text() : "default");
  const ByteLevelJson out{.added_tokens = added_tokens(parts, tokens, kinds),
                          .pre_tokenizer = split_steps(split.patterns),
                          .post_processor = frame_step(frame_tokens(parts.before, tokens),
                                                       frame_tokens(parts.behind, tokens)),
                          .vocab = vocabulary_object(tokens),
                          .merges = metadata.at("tokenizer.ggml.merges").texts(),
                          .ignore_merges = split.ignore_merges};
  return out.document();
}

}  // namespace

std::map<std::string, std::string> gguf_tokenizer_json(const std::filesystem::path& file) {
  const GgufMetadata metadata =
      storage_error_as<DataError>([&] { return read_gguf_header(FileReader(file)).metadata; });
  const TokenizerParts parts = parts_of_gguf(metadata, file.string());  // checks them
  const bool is_byte_level = metadata.at("tokenizer.ggml.model").text() == "gpt2";
  const Json document =
      is_byte_level ? byte_level_document(metadata, parts) : scored_document(metadata, parts);
  if (document.is_null()) return {};
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false}};
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    if (const Json text = special_token(parts, name); !text.is_null()) config[name] = text;
  }
  if (!parts.chat.chat_template.empty()) config["chat_template"] = parts.chat.chat_template;
  return {{"tokenizer.json", document.dump(is_byte_level ? 2 : -1) + "\n"},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

}  // namespace axle
