#include "evaluate/model/scorer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "infer/generator.h"
#include "interop/tiny_model_test.h"
#include "layers/attention/attention.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/positions/position_embedding.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

class Scores : public ::testing::Test {
 protected:
  std::vector<RowScore> scores(std::span<const ScoredRow> rows, Scorer::Options options = {}) {
    Scorer scorer({.model = *tiny_.model}, *runtime_, std::move(options));
    const Arrays parameters = decode_arrays(*tiny_.model, tiny_.parameters, *runtime_, {}, {});
    return scorer.score(rows, parameters).value();
  }
  TinyModel tiny_ = random_model(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

// Rows of all lengths and numbers of targets.
std::vector<ScoredRow> many_rows() {
  std::vector<ScoredRow> out;
  for (int32_t len = 1; len < 40; len += 3) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i <= len; ++i) ids.push_back((7 * i * i + len) % 31);
    const int32_t count = 1 + len * 5 % len % 20;
    out.push_back({{ids.begin(), ids.end() - 1}, {ids.end() - count, ids.end()}});
  }
  return out;
}

TEST_F(Scores, DoNotDependOnTheBatch) {
  const std::vector<ScoredRow> rows = many_rows();
  const std::vector<RowScore> together = scores(rows), few = scores(rows, {.batch_tokens = 64}),
                              narrow = scores(rows, {.batch_logits = 400});
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowScore alone = scores(std::span(&rows[i], 1))[0];
    for (const auto& other : {together, few, narrow}) {
      EXPECT_NEAR(other[i].log_likelihood, alone.log_likelihood, 2e-4) << i;
      EXPECT_EQ(other[i].is_greedy, alone.is_greedy) << i;
    }
    EXPECT_LT(alone.log_likelihood, 0);
  }
}

// Four questions with two to five choices, some of them of one token.
std::vector<ScoredRow> rows_of_questions() {
  std::vector<ScoredRow> out;
  for (int32_t q = 0; q < 4; ++q) {
    std::vector<int32_t> context;
    for (int32_t i = 0; i < 20 + 9 * q; ++i) context.push_back((5 * i * i + q) % 31);
    for (int32_t k = 0; k < 2 + q; ++k) {
      std::vector<int32_t> targets, inputs = context;
      for (int32_t i = 0; i < (q == 1 ? 1 : 1 + k * 2); ++i)
        targets.push_back((3 * i + k + q) % 31);
      inputs.insert(inputs.end(), targets.begin(), targets.end() - 1);
      out.push_back({std::move(inputs), std::move(targets)});
    }
  }
  return out;
}

// Each context is computed once, for any caches of the layers.
TEST_F(Scores, ChoicesContinueFromASharedContext) {
  const std::vector<ScoredRow> rows = rows_of_questions();
  TransformerLayer::Config local = tiny_layer();
  Attention::Config& attention = *local.attention.get_if<PreNorm>()->body.get_if<Attention>();
  attention.mask = SlidingWindowMask::Config{.window = 6};
  attention.kv_cache = SlidingKVCache::Config{.window = 6};
  TransformerLayer::Config placed = tiny_layer();
  Attention::Config& of_prefix = *placed.attention.get_if<PreNorm>()->body.get_if<Attention>();
  of_prefix.mask = AnyOf::Config{.masks = {CausalMask::Config{}, PrefixMask::Config{}}};
  of_prefix.qkv.get_if<RoPE>()->streams = PositionStreams{.sections = {1, 1}};
  const StreamRule lines{{PositionStream::kToken, PositionStream::kLine}, {0, 0, 0, 1}};
  const std::pair<TransformerLayer::Config, StreamRule> kCases[] = {
      {tiny_layer(), {}}, {local, {}}, {placed, lines}};
  for (const auto& [layer, streams] : kCases) {
    tiny_ = random_model(Stacked::Config{.num_layers = 2, .layer = layer});
    const Arrays parameters = decode_arrays(*tiny_.model, tiny_.parameters, *runtime_, {}, {});
    Scorer shared({.model = *tiny_.model}, *runtime_, {.streams = streams}),
        apart({.model = *tiny_.model}, *runtime_, {.streams = streams, .shares_contexts = false});
    const auto some = shared.score(rows, parameters).value(),
               all = apart.score(rows, parameters).value();
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(some[i].log_likelihood, all[i].log_likelihood, 1e-5) << i;
      EXPECT_EQ(some[i].is_greedy, all[i].is_greedy) << i;
    }
    EXPECT_LT(2 * shared.num_computed(), apart.num_computed());
  }
}

// Models that cannot decode, and caches that round what they keep.
TEST_F(Scores, ContextsThatCachesKeepInexactlyAreComputedAgain) {
  TransformerLayer::Config both_sides = tiny_layer(), rounded = tiny_layer();
  both_sides.attention.get_if<PreNorm>()->body.get_if<Attention>()->mask =
      TwoSidedWindowMask::Config{.before = 3, .after = 3};
  rounded.attention.get_if<PreNorm>()->body.get_if<Attention>()->kv_cache =
      QuantizedKVCache::Config{};
  for (const TransformerLayer::Config& layer : {both_sides, rounded}) {
    tiny_ = random_model(Stacked::Config{.num_layers = 1, .layer = layer});
    const Arrays parameters = decode_arrays(*tiny_.model, tiny_.parameters, *runtime_, {}, {});
    Scorer either({.model = *tiny_.model}, *runtime_, {}),
        apart({.model = *tiny_.model}, *runtime_, {.shares_contexts = false});
    const std::vector<ScoredRow> rows = rows_of_questions();
    const auto shared = either.score(rows, parameters).value(),
               all = apart.score(rows, parameters).value();
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(shared[i].log_likelihood, all[i].log_likelihood) << i;
    EXPECT_EQ(either.num_computed(), apart.num_computed());
  }
}

// A row is not padded beyond the positions that the model has.
TEST_F(Scores, RowsMayFillTheContextOfTheModel) {
  for (const int64_t most : {5, 23, 41}) {
    Decoder::Config decoder = *tiny_.config.get_if<CausalLM>()->decoder.get_if<Decoder>();
    decoder.max_seq_len = most;
    decoder.position_emb = LearnedPositions::Config{};
    TinyModel model(CausalLM::Config{.decoder = decoder});
    model.parameters = testing::initial_parameters(*model.model, 7);
    const Arrays parameters = decode_arrays(*model.model, model.parameters, *runtime_, {}, {});
    Scorer shared({.model = *model.model}, *runtime_, {}),
        apart({.model = *model.model}, *runtime_, {.shares_contexts = false});
    const ScoredRow row{std::vector<int32_t>(static_cast<size_t>(most), 3), {1, 2}};
    std::vector<ScoredRow> rows = {row, row};
    rows[0].inputs.back() = 1;
    rows[1].inputs.back() = 1;
    rows[1].targets.back() = 4;
    const auto some = shared.score(rows, parameters).value(),
               all = apart.score(rows, parameters).value();
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_NEAR(some[i].log_likelihood, all[i].log_likelihood, 1e-5) << most << ", " << i;
    EXPECT_NE(all[0].log_likelihood, all[1].log_likelihood);
  }
}

TEST(SharedContexts, GroupAdjacentRowsWithTheSameContext) {
  const ScoredRow ab{{1, 2, 3, 4, 5}, {6}}, ac{{1, 2, 3, 4, 5}, {7}}, other{{1, 2, 3, 4, 6}, {7}},
      brief{{1}, {2}};
  const std::vector<ScoredRow> rows = {ab, ac, other, ab, brief, brief};
  const SharedContexts found = shared_contexts(rows);
  EXPECT_EQ(found.groups, (std::vector<std::vector<size_t>>{{0, 1}}));
  EXPECT_EQ(found.alone, (std::vector<size_t>{2, 3, 4, 5}));
}

// The likelihood of several tokens is that of each after those before it.
TEST_F(Scores, AddUpOverTheTargets) {
  const ScoredRow whole{{3, 1, 4, 1, 5}, {1, 5, 9}};
  std::vector<ScoredRow> steps;
  for (size_t n = 3; n <= 5; ++n) {
    const auto end = whole.inputs.begin() + static_cast<std::ptrdiff_t>(n);
    steps.push_back({{whole.inputs.begin(), end}, {whole.targets[n - 3]}});
  }
  double sum = 0;
  for (const RowScore& step : scores(steps)) sum += step.log_likelihood;
  EXPECT_NEAR(scores(std::span(&whole, 1))[0].log_likelihood, sum, 1e-4);
}

TEST_F(Scores, ProbabilitiesSumToOneAndOneTokenIsGreedy) {
  std::vector<ScoredRow> rows;
  for (int32_t id = 0; id < 31; ++id) rows.push_back({{5, 8, 2}, {id}});
  double sum = 0;
  int num_greedy = 0;
  for (const RowScore& score : scores(rows)) {
    sum += std::exp(score.log_likelihood);
    num_greedy += score.is_greedy;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(num_greedy, 1);
}

TEST_F(Scores, TokensThatTheModelLacksAreRefused) {
  const ScoredRow row{{1}, {31}};
  EXPECT_EQ(error_of<DataError>([&] { scores(std::span(&row, 1)); }),
            "expected tokens of the model's vocabulary of 31, got id 31");
}

}  // namespace
}  // namespace axle
