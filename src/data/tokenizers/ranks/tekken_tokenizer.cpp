#include "data/tokenizers/ranks/tekken_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/tokenizers/parts/base64.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"

namespace axle {
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
      const auto next = static_cast<int64_t>(out.size());
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
    const auto& row = json.json()[static_cast<size_t>(rank)];
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
  for (int64_t id = num_specials; id < vocab_size; ++id)
    ranks[static_cast<size_t>(id)] = static_cast<int32_t>(id);
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
