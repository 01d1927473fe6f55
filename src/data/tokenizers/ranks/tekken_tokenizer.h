// Tekken, Mistral's byte-level tokenizer: a JSON file with ranks, a pattern and special tokens.
#pragma once

#include "config/axle_config.h"
#include "config/fields/required.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"

namespace axle {

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
