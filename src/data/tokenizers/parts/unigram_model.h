// The unigram language model of subwords: the most likely way to cut a piece into tokens.
//
// Source: Kudo 2018, arXiv 1804.10959, section 3.2.
#pragma once

#include "data/tokenizers/parts/byte_trie.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

class UnigramModel final : public TokenModel {
 public:
  struct Options {
    /// What text becomes that no token covers, neighbouring characters together. Without it such
    /// text is an error.
    std::optional<int32_t> unknown = {};
    /// Such text becomes the tokens of its bytes ("<0x0A>") if all of them are there.
    bool byte_fallback = false;
  };
  /// `scores` are logarithms of probabilities, by id.
  UnigramModel(Vocabulary vocabulary, std::vector<double> scores, Options options);

  /// Throws DataError for text that no token covers if there is no unknown token.
  void encode(std::string_view piece, Scratch* scratch, std::vector<int32_t>& ids) const override;

 private:
  void add_text(std::string_view text, std::vector<int32_t>& ids) const;

  std::vector<double> scores_;
  Options options_;
  ByteTrie trie_;
  double unknown_score_ = 0;
  std::vector<int32_t> fallback_;
};

}  // namespace axle
