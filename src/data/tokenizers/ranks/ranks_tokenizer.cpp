#include "data/tokenizers/ranks/ranks_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/unicode.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/byte_pair_model.h"

namespace axle {

namespace split_patterns {
const std::string_view kGpt2 =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kCl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
    R"(|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
const std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}  // namespace split_patterns

namespace {

using Specials = std::vector<RanksFamilyRow::Special>;

// Numbers names from the first free id on.
class Names {
 public:
  void add(std::string name) {
    const auto offset = std::ssize(specials_);
    specials_.push_back({std::move(name), offset});
  }
  void add(std::initializer_list<const char*> names) {
    for (const char* const name : names) add(std::string(name));
  }
  // Adds names with numbers, such as "<|extra_{}|>".
  void add(std::string_view pattern, int first, int end) {
    for (int i = first; i < end; ++i) add(fmt::format(fmt::runtime(pattern), i));
  }
  // Adds numbered names until there are `count` names.
  void fill(std::string_view pattern, int first, size_t count) {
    const auto missing = static_cast<int>(count - specials_.size());
    add(pattern, first, first + missing);
  }
  Specials take() { return std::move(specials_); }

 private:
  Specials specials_;
};

Specials gpt2_specials() { return {{"<|endoftext|>", 0}}; }
// The published ranks leave out the id of this token.
Specials p50k_specials() { return {{"<|endoftext|>", -24}}; }
Specials cl100k_specials() {
  return {{"<|endoftext|>", 1},
          {"<|fim_prefix|>", 2},
          {"<|fim_middle|>", 3},
          {"<|fim_suffix|>", 4},
          {"<|endofprompt|>", 20}};
}
Specials o200k_specials() { return {{"<|endoftext|>", 1}, {"<|endofprompt|>", 20}}; }

Specials llama3_specials() {
  constexpr size_t kCount = 256;
  Names names;
  names.add({"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
             "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|step_id|>",
             "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
             "<|python_tag|>", "<|image|>"});
  names.fill("<|reserved_special_token_{}|>", 2, kCount);
  return names.take();
}

Specials llama4_specials() {
  constexpr size_t kCount = 2048;
  Names names;
  names.add({"<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>",
             "<|fim_suffix|>", "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>",
             "<|step|>"});
  names.add("<|text_post_train_reserved_special_token_{}|>", 0, 6);
  names.add({"<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"});
  names.add("<|text_post_train_reserved_special_token_{}|>", 8, 69);
  names.add({"<|image_start|>", "<|image_end|>"});
  names.add("<|vision_reserved_special_token_{}|>", 0, 2);
  names.add({"<|tile_x_separator|>", "<|tile_y_separator|>"});
  names.add("<|vision_reserved_special_token_{}|>", 2, 6);
  names.add({"<|image|>", "<|vision_reserved_special_token_6|>", "<|patch|>"});
  names.add("<|vision_reserved_special_token_{}|>", 7, 1048);
  names.add("<|reasoning_reserved_special_token_{}|>", 0, 8);
  names.add({"<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"});
  names.fill("<|reserved_special_token_{}|>", 0, kCount);
  return names.take();
}

Specials qwen_specials() {
  Names names;
  names.add({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  names.add("<|extra_{}|>", 0, 205);
  return names.take();
}

Specials qwen35_specials() {
  Names names;
  names.add({"<|endoftext|>",
             "<|im_start|>",
             "<|im_end|>",
             "<|object_ref_start|>",
             "<|object_ref_end|>",
             "<|box_start|>",
             "<|box_end|>",
             "<|quad_start|>",
             "<|quad_end|>",
             "<|vision_start|>",
             "<|vision_end|>",
             "<|vision_pad|>",
             "<|image_pad|>",
             "<|video_pad|>",
             "<tool_call>",
             "</tool_call>",
             "<|fim_prefix|>",
             "<|fim_middle|>",
             "<|fim_suffix|>",
             "<|fim_pad|>",
             "<|repo_name|>",
             "<|file_sep|>",
             "<tool_response>",
             "</tool_response>",
             "<think>",
             "</think>",
             "<|audio_start|>",
             "<|audio_end|>",
             "<tts_pad>",
             "<tts_text_bos>",
             "<tts_text_eod>",
             "<tts_text_bos_single>",
             "<|audio_pad|>"});
  return names.take();
}

constexpr std::string_view kEndOfText = "<|endoftext|>";

const RanksFamilyRow kRows[] = {
    {RanksFamily::kGpt2, 50256, split_patterns::kGpt2, gpt2_specials, "", kEndOfText, "", false},
    {RanksFamily::kP50k, 50280, split_patterns::kGpt2, p50k_specials, "", kEndOfText, "", false},
    {RanksFamily::kCl100k, 100256, split_patterns::kCl100k, cl100k_specials, "", kEndOfText, "",
     false},
    {RanksFamily::kO200k, 199998, split_patterns::kO200k, o200k_specials, "", kEndOfText, "",
     false},
    {RanksFamily::kLlama3, 128000, split_patterns::kLlama3, llama3_specials, "<|begin_of_text|>",
     "<|end_of_text|>", "<|finetune_right_pad_id|>", true},
    {RanksFamily::kLlama4, 200000, split_patterns::kO200k, llama4_specials, "<|begin_of_text|>",
     "<|end_of_text|>", "<|finetune_right_pad|>", true},
    {RanksFamily::kQwen, 151643, split_patterns::kQwen, qwen_specials, "", kEndOfText, kEndOfText,
     false},
    {RanksFamily::kQwen35, 248044, split_patterns::kQwen35, qwen35_specials, "", kEndOfText,
     kEndOfText, false},
};

}  // namespace

const RanksFamilyRow* find_ranks_family(RanksFamily family, int64_t num_ranks) {
  const auto row = std::ranges::find_if(kRows, [&](const RanksFamilyRow& r) {
    return family == RanksFamily::kAuto ? r.num_ranks == num_ranks : r.family == family;
  });
  return row == std::end(kRows) ? nullptr : row;
}

namespace {

// Reads the lines into the vocabulary and returns their number.
int64_t read_lines(std::string_view text, const std::string& path, Vocabulary& out) {
  int64_t line_number = 0, count = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto fail = [&](std::string_view expected) {
      throw DataError(fmt::format("{}:{}: expected {}, got '{}'", path, line_number, expected,
                                  printable(line)));
    };
    const size_t space = line.find(' ');
    if (space == line.npos) fail("a token in base 64 and its rank");
    auto token = from_base64(line.substr(0, space));
    int64_t rank = -1;
    const char* const last = line.data() + line.size();
    const auto read = std::from_chars(line.data() + space + 1, last, rank);
    if (!token || token->empty() || read.ec != std::errc() || read.ptr != last || rank < 0 ||
        rank > Vocabulary::kMaxId)
      fail("a token in base 64 and its rank");
    if (out.find(*token)) fail("every token once");
    if (out.token(rank)) fail("every rank once");
    out.add(*std::move(token), static_cast<int32_t>(rank));
    ++count;
  }
  return count;
}

const RanksFamilyRow& family_of(RanksFamily family, int64_t num_ranks, const std::string& path,
                                const Scope& scope) {
  if (const RanksFamilyRow* const row = find_ranks_family(family, num_ranks)) return *row;
  std::string known;
  for (const auto& [value, text, former] : texts_of(RanksFamily{})) {
    if (const auto* const row = find_ranks_family(value, -1))
      known += fmt::format("{}{} {}", known.empty() ? "" : ", ", text, row->num_ranks);
  }
  throw DataError(
      fmt::format("{}: expected the number of ranks of a known family ({}), got {}; set {}.family",
                  path, known, num_ranks, scope.path));
}

TokenizerParts read_ranks(const RanksTokenizer::Config& cfg, const Scope& scope) {
  const std::string& path = cfg.path.get();
  const std::string bytes = read_data_file(path, fmt::format("{}.path", scope.path), kRanksName);
  Vocabulary vocabulary;
  const int64_t count = read_lines(bytes, path, vocabulary);
  const RanksFamilyRow& family = family_of(cfg.family, count, path, scope);
  std::vector<int32_t> ranks;
  for (int32_t id = 0; id < vocabulary.end_id(); ++id)
    ranks.push_back(vocabulary.token(id) ? id : -1);
  std::vector<AddedToken> specials;
  SpecialIds special_ids;
  for (auto& [text, offset] : family.specials()) {
    const int64_t id = std::max<int64_t>(count + offset, 0);
    if (vocabulary.token(id)) {
      throw DataError(
          fmt::format("{}: expected the id {} free for '{}', got a token with it", path, id, text));
    }
    const auto special = static_cast<int32_t>(id);
    if (text == family.bos) special_ids.bos = special;
    if (text == family.eos) special_ids.eos = special;
    if (text == family.pad) special_ids.pad = special;
    specials.push_back({.text = std::move(text), .id = special, .special = true});
  }
  TokenizerParts out =
      parts_of_ranks(path, std::move(vocabulary), ranks, family.pattern, std::move(specials));
  out.special_ids = special_ids;
  if (family.begins_with_bos) out.before = {*special_ids.bos};
  out.fingerprint = xxh3_64(bytes + std::string(family.pattern));
  return out;
}

}  // namespace

TokenizerParts parts_of_ranks(std::string path, Vocabulary vocabulary,
                              const std::vector<int32_t>& ranks, std::string_view pattern,
                              std::vector<AddedToken> specials) {
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<char>(b);
    if (!vocabulary.find({&byte, 1}))
      throw DataError(
          fmt::format("{}: expected a token for every byte, got none for 0x{:02x}", path, b));
  }
  MergeTable merges = merges_of_unions(vocabulary, ranks, path);
  TokenizerParts out{.path = std::move(path)};
  out.pre_tokenizers = {
      split_at_pattern(UnicodeRegex(pattern, RegexSyntax::kRust), SplitBehavior::kIsolated)};
  out.model = std::make_unique<BytePairModel>(
      std::move(vocabulary), std::move(merges),
      BytePairModel::Options{.symbols = BytePairModel::Symbols::kBytes, .ignore_merges = true});
  out.added = AddedTokens(std::move(specials), {}, out.path);
  out.decoder = {.invalid_bytes = InvalidBytes::kEachPart};
  return out;
}

RanksTokenizer::RanksTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : PipelineTokenizer(read_ranks(cfg, scope)) {}

AXLE_REGISTER(RanksTokenizer)

namespace {

constexpr int64_t kMaxSpecials = 1 << 16;

// The names of files that do not list them.
constexpr const char* kOldSpecials[] = {"<unk>",
                                        "<s>",
                                        "</s>",
                                        "[INST]",
                                        "[/INST]",
                                        "[AVAILABLE_TOOLS]",
                                        "[/AVAILABLE_TOOLS]",
                                        "[TOOL_RESULTS]",
                                        "[/TOOL_RESULTS]",
                                        "[TOOL_CALLS]",
                                        "[IMG]",
                                        "<pad>",
                                        "[IMG_BREAK]",
                                        "[IMG_END]",
                                        "[PREFIX]",
                                        "[MIDDLE]",
                                        "[SUFFIX]",
                                        "[SYSTEM_PROMPT]",
                                        "[/SYSTEM_PROMPT]",
                                        "[TOOL_CONTENT]"};

// Returns the names by id; the file may leave out those at the end.
std::vector<AddedToken> read_specials(const JsonView& json, int64_t count) {
  std::vector<AddedToken> out;
  const auto add = [&](std::string name) {
    out.push_back(
        {.text = std::move(name), .id = static_cast<int32_t>(out.size()), .special = true});
  };
  const auto listed = json.find("special_tokens");
  if (listed && !listed->json().is_null()) {
    for (const JsonView& row : listed->elements()) {
      const auto next = std::ssize(out);
      if (next == count) listed->fail(fmt::format("at most {} special tokens", count));
      row.at("rank").integer(next, next);
      add(row.at("token_str").text());
    }
  } else {
    for (const char* const name : kOldSpecials) add(name);
    if (std::ssize(out) > count) json.fail(fmt::format("at least {} special tokens", out.size()));
  }
  while (std::ssize(out) < count) add(fmt::format("<SPECIAL_{}>", out.size()));
  std::set<std::string_view> names;
  for (const AddedToken& token : out) {
    if (!names.insert(token.text).second)
      json.fail(fmt::format("every special token once, not '{}' twice", printable(token.text)));
  }
  return out;
}

// Reads the first `count` tokens, whose ids begin behind the special ones.
void read_tokens(const JsonView& json, int64_t count, int64_t first_id, Vocabulary& out) {
  if (!json.json().is_array()) json.fail("a list of tokens");
  if (std::ssize(json.json()) < count) json.fail(fmt::format("at least {} tokens", count));
  for (int64_t rank = 0; rank < count; ++rank) {
    const auto& row = json.json()[rank];
    const auto fail = [&](std::string_view expected) {
      throw JsonError(fmt::format("{}[{}]: expected {}, got {}", json.path(), rank, expected,
                                  printable(row.dump())));
    };
    if (!row.is_object() || !row.contains("token_bytes") || !row["token_bytes"].is_string() ||
        !row.contains("rank") || row["rank"] != rank)
      fail(fmt::format("token_bytes and the rank {}", rank));
    auto bytes = from_base64(row["token_bytes"].get_ref<const std::string&>());
    if (!bytes || bytes->empty()) fail("token_bytes in base 64");
    if (out.find(*bytes)) fail("every token once");
    out.add(*std::move(bytes), static_cast<int32_t>(first_id + rank));
  }
}

TokenizerParts read_parts(const JsonView& json, const std::string& path) {
  const JsonView config = json.at("config");
  const int64_t num_specials = config.at("default_num_special_tokens").integer(0, kMaxSpecials);
  const int64_t vocab_size =
      config.at("default_vocab_size").integer(num_specials + 1, Vocabulary::kMaxId);
  Vocabulary vocabulary;
  read_tokens(json.at("vocab"), vocab_size - num_specials, num_specials, vocabulary);
  std::vector<int32_t> ranks(static_cast<size_t>(vocab_size), -1);
  for (int64_t id = num_specials; id < vocab_size; ++id) ranks[id] = static_cast<int32_t>(id);
  const JsonView pattern = config.at("pattern");
  try {
    TokenizerParts out = parts_of_ranks(path, std::move(vocabulary), ranks, pattern.text(),
                                        read_specials(json, num_specials));
    const auto id_of = [&](std::string_view name) {
      const AddedToken* const found = out.added.find(name);
      return found ? std::optional(found->id) : std::nullopt;
    };
    out.special_ids = {.bos = id_of("<s>"), .eos = id_of("</s>"), .pad = id_of("<pad>")};
    if (out.special_ids.bos) out.before = {*out.special_ids.bos};
    return out;
  } catch (const ConfigError& error) {
    throw JsonError(pattern.path() + ": " + error.what());
  }
}

TokenizerParts read_tekken(const TekkenTokenizer::Config& cfg, const Scope& scope) {
  const std::string& path = cfg.path.get();
  const std::string bytes = read_data_file(path, fmt::format("{}.path", scope.path), kTekkenName);
  TokenizerParts out = json_as<DataError>(path, [&] {
    const nlohmann::ordered_json document = read_json(bytes);
    return read_parts(JsonView(document), path);
  });
  out.fingerprint = xxh3_64(bytes);
  return out;
}

}  // namespace

TekkenTokenizer::TekkenTokenizer(const Config& cfg, const Dims&, const Scope& scope)
    : PipelineTokenizer(read_tekken(cfg, scope)) {}

AXLE_REGISTER(TekkenTokenizer)

}  // namespace axle
