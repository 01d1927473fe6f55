// The unigram language model of subwords: the most likely way to cut a piece into tokens.
//
// Source: Kudo 2018, arXiv 1804.10959, section 3.2.
#pragma once

#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/byte_pair_model.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

/// What sums of scores are rounded to: f64 in Hugging Face's library, f32 in SentencePiece's.
enum class ScoreSums { kF64, kF32 };
/// What neighbouring characters that no token covers become: perhaps a token together, as in
/// Hugging Face's library, or always unknown, as in SentencePiece's.
enum class UncoveredText { kMayBeToken, kIsUnknown };

class UnigramModel final : public TokenModel {
 public:
  struct Options {
    /// What text becomes that no token covers, neighbouring characters together. Without it such
    /// text is an error.
    std::optional<int32_t> unknown = {};
    /// Such text becomes the tokens of its bytes ("<0x0A>") if all of them are there.
    bool byte_fallback = false;
    /// The score of a character that no token covers; none: 10 below the least of the scores.
    std::optional<double> unknown_score = {};
    ScoreSums sums = ScoreSums::kF64;
    UncoveredText uncovered = UncoveredText::kMayBeToken;
  };
  /// `scores` are logarithms of probabilities, by id. A token with NaN is only the token of a byte.
  UnigramModel(Vocabulary vocabulary, std::vector<double> scores, Options options);

  /// Throws DataError for text that no token covers if there is no unknown token.
  void encode(std::string_view piece, Scratch* scratch, std::vector<int32_t>& ids) const override;
  std::unique_ptr<Scratch> make_scratch(size_t text_bytes) const override {
    return caches_.lend(text_bytes);
  }
  int64_t piece_bytes() const override { return 48; }
  bool cuts_words() const override { return cuts_ && pairs_.words_are_apart(); }

 private:
  struct Part;
  template <class Score>
  struct Node;
  template <class Score>
  struct Way;
  class Output;
  template <class Score>
  void find_way(std::string_view piece, Score before, Way<Score>& way) const;
  void encode_whole(std::string_view piece, std::vector<int32_t>& ids) const;
  void encode_in_stretches(std::string_view text, Scratch* scratch,
                           std::vector<int32_t>& ids) const;
  float most_before(size_t stretch_size, float lead) const;
  float after(float before, std::span<const int32_t> ids) const;
  bool is_unknown(int32_t id) const { return id == options_.unknown; }
  void add_unknown(std::string_view text, std::vector<int32_t>& ids) const;

  std::vector<double> scores_;
  Options options_;
  ByteTrie trie_;
  CharacterPairs pairs_;
  bool cuts_ = false;  // into stretches
  PieceCaches caches_;
  double unknown_score_ = 0, largest_score_ = 0;
  std::vector<int32_t> fallback_;
};

}  // namespace axle
