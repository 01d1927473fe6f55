// Models that look up words: whole, or in the longest parts that are tokens.
#pragma once

#include "data/tokenizers/parts/byte_trie.h"
#include "data/tokenizers/parts/piece_cache.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

/// A word is its longest beginning that is a token, then the longest continuations, which stand in
/// the vocabulary behind a prefix such as "##". A word that can't be covered is one unknown token.
///
/// Source: Wu et al. 2016, arXiv 1609.08144, section 4.1.
class WordPieceModel final : public TokenModel {
 public:
  struct Options {
    int32_t unknown = 0;
    std::string continuing_prefix = "##";
    /// Longer words are unknown.
    int64_t max_characters = 100;
  };
  WordPieceModel(Vocabulary vocabulary, Options options);
  void encode(std::string_view piece, Scratch* scratch, std::vector<int32_t>& ids) const override {
    encode_cached(scratch, piece, ids, [this](std::string_view text, std::vector<int32_t>& out) {
      encode_anew(text, out);
    });
  }
  std::unique_ptr<Scratch> make_scratch(size_t text_bytes) const override {
    return caches_.lend(text_bytes);
  }
  int64_t piece_bytes() const override { return 0; }

 private:
  void encode_anew(std::string_view piece, std::vector<int32_t>& ids) const;

  Options options_;
  ByteTrie beginnings_, continuations_;  // the latter without the prefix
  PieceCaches caches_;
};

/// A word is a token or unknown; unknown words are dropped if there is no token for them.
class WordLevelModel final : public TokenModel {
 public:
  WordLevelModel(Vocabulary vocabulary, std::optional<int32_t> unknown)
      : TokenModel(std::move(vocabulary)), unknown_(unknown) {}
  void encode(std::string_view piece, Scratch*, std::vector<int32_t>& ids) const override {
    const std::optional<int32_t> id = vocabulary_.find(piece);
    if (id || unknown_) ids.push_back(id ? *id : *unknown_);
  }
  int64_t piece_bytes() const override { return 0; }

 private:
  std::optional<int32_t> unknown_;
};

}  // namespace axle
