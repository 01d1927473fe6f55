// Tokenizers with large vocabularies (tools/oracle/tokenizers_trained.py) against the libraries
// that made them, on texts that need no files of others.
#include "data/tokenizers/large_texts_test.h"

namespace axle {
namespace {

class TrainedTokenizers : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Files, TrainedTokenizers,
                         ::testing::Values("trained_word_pieces.json", "trained_unigram.json",
                                           "trained_unigram.model"));

TEST_P(TrainedTokenizers, RandomTextsMatchTheirLibraries) {
  LargeTexts(reference_file(std::string("tokenizers/") + GetParam()), GetParam())
      .expect_random_ones();
}

}  // namespace
}  // namespace axle
