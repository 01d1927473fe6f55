// Byte-level vocabularies as files of ranks: tiktoken's format, which Llama 3 and 4 and Qwen use,
// too. A line is a token in base 64, a space and its rank, which is its id.
#pragma once

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"
#include "data/tokenizers/ranks/families.h"

namespace axle {

/// Cuts text by the pattern of the family. A piece that is a token becomes that token; else its
/// bytes are merged: of all neighbours whose union is a token, those with the lowest rank first.
class RanksTokenizer final : public PipelineTokenizer {
 public:
  struct Config {
    /// The file of ranks.
    Required<std::string> path = REQUIRED;
    /// Has the pattern and the special tokens. `auto` tells the family by the number of ranks.
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

}  // namespace axle
