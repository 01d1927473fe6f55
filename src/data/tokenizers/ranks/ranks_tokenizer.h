// What files of ranks leave out: how text is cut, and the special tokens. A family has both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"

namespace axle {

/// Families of published ranks; kAuto recognises them by the number of ranks.
enum class RanksFamily { kAuto, kGpt2, kP50k, kCl100k, kO200k, kLlama3, kLlama4, kQwen, kQwen35 };
constexpr auto texts_of(RanksFamily) {
  return std::to_array<EnumText<RanksFamily>>({{RanksFamily::kAuto, "auto"},
                                               {RanksFamily::kGpt2, "gpt2"},
                                               {RanksFamily::kP50k, "p50k"},
                                               {RanksFamily::kCl100k, "cl100k"},
                                               {RanksFamily::kO200k, "o200k"},
                                               {RanksFamily::kLlama3, "llama3"},
                                               {RanksFamily::kLlama4, "llama4"},
                                               {RanksFamily::kQwen, "qwen"},
                                               {RanksFamily::kQwen35, "qwen3.5"}});
}

/// Patterns that cut text into pieces, as published with the models (syntax: RegexSyntax::kRust).
namespace split_patterns {
extern const std::string_view kGpt2, kCl100k, kO200k, kLlama3, kQwen, kQwen35;
}

struct RanksFamilyRow {
  RanksFamily family;
  /// Of the published file.
  int64_t num_ranks;
  std::string_view pattern;
  /// The special tokens by the difference of their ids to the number of ranks.
  struct Special {
    std::string text;
    int64_t offset;
  };
  std::vector<Special> (*specials)();
  std::string_view bos, eos, pad;  // empty: none
  /// A text begins with `bos`.
  bool begins_with_bos;
};

/// Returns the row of a family; of kAuto, the one with `num_ranks` ranks, or nullptr.
const RanksFamilyRow* find_ranks_family(RanksFamily family, int64_t num_ranks);

// Byte-level vocabularies as files of ranks: tiktoken's format, which Llama 3 and 4 and Qwen use,
// too. A line is a token in base 64, a space and its rank, which is its id.

/// Cuts text by the pattern of the family. A piece that is a token becomes that token; else its
/// bytes are merged: of all neighbours whose union is a token, those with the lowest rank first.
class RanksTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The file of ranks.
    Required<std::string> path = REQUIRED;
    /// Has the pattern and the special tokens. `auto` recognises the family by the number of ranks.
    RanksFamily family = RanksFamily::kAuto;
    AXLE_CONFIG(RanksTokenizer, path, family)
  };
  /// Throws DataError with the line if the file is missing, damaged or of no family.
  RanksTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// The parts of a tokenizer whose tokens are bytes with ranks. Ranks are by id, -1 where there is
/// none. Throws DataError if a byte is no token.
TokenizerParts parts_of_ranks(std::string path, Vocabulary vocabulary,
                              const std::vector<int32_t>& ranks, std::string_view pattern,
                              std::vector<AddedToken> specials);

/// Encodes as RanksTokenizer does. The special tokens have the first ids, and the others their rank
/// behind them. The file may hold more tokens than the vocabulary has; the rest is left out.
class TekkenTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The file tekken.json.
    Required<std::string> path = REQUIRED;
    AXLE_CONFIG(TekkenTokenizer, path)
  };
  /// Throws DataError with the field if the file is missing, damaged or of another kind.
  TekkenTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);
};

}  // namespace axle
