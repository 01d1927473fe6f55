#include "data/tokenizers/ranks/ranks_tokenizer.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/file_format.h"
#include "base/text/utf8.h"
#include "config/register.h"
#include "data/data_file.h"
#include "data/tokenizers/parts/base64.h"
#include "data/tokenizers/parts/byte_pair_model.h"

namespace axle {
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
  for (const auto& [value, text] : texts_of(RanksFamily{})) {
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

}  // namespace axle
