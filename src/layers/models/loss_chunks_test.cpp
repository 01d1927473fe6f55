// How the logits of rows are divided, and what the loss of their parts is.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/register.h"
#include "config/set.h"
#include "layers/models/causal_lm.h"
#include "layers/models/loss_sums.h"
#include "nn/layer_role.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "testing/test_layer.h"
#include "transform/trace.h"

namespace axle {
namespace {

using testing::build_for_test;

std::string text_of(const std::optional<LossChunks>& chunks) {
  if (!chunks) return "whole";
  const std::string joined =
      chunks->rows_joined > 1 ? fmt::format("{} rows as one, ", chunks->rows_joined) : "";
  return joined +
         fmt::format("{} x {} x {}", chunks->num_chunks, chunks->num_shares, chunks->len_of_share);
}
Mesh mesh_of(std::string_view text) {
  Mesh out;
  from_text(text, out);
  return out;
}

TEST(LossChunks, FitTheMemoryOfADevice) {
  const auto chunks = [](const Shape& btv, std::string_view mesh) {
    return text_of(fitting_loss_chunks(btv, mesh_of(mesh)));
  };
  EXPECT_EQ(chunks({1, 2048, 1 << 15}, ""), "whole");
  EXPECT_EQ(chunks({1, 4096, 1 << 15}, ""), "2 x 1 x 2048");
  EXPECT_EQ(chunks({1, 4096, 1 << 15}, "model=2"), "whole");
  EXPECT_EQ(chunks({2, 4096, 1 << 15}, "data=2,model=2"), "whole");
  EXPECT_EQ(chunks({4, 4096, 1 << 15}, "data=2,model=2"), "2 x 1 x 2048");
  // Each of four devices holds 4096 of 16384 positions.
  EXPECT_EQ(chunks({1, 16384, 1 << 15}, "seq=4"), "2 x 4 x 2048");
  // Axes that do not divide a dim do not shard it.
  EXPECT_EQ(chunks({3, 4096, 1 << 15}, "data=2"), "8 x 1 x 512");
  // The nearest number that divides the row, or else padding.
  EXPECT_EQ(chunks({1, 6144, 1 << 15}, ""), "3 x 1 x 2048");
  EXPECT_EQ(chunks({1, 5120, 1 << 15}, ""), "4 x 1 x 1280");
  EXPECT_EQ(chunks({1, 4099, 1 << 15}, ""), "3 x 1 x 1367");
  // Short rows, of which a position each is more than that.
  EXPECT_EQ(chunks({1 << 14, 3, 1 << 15}, ""), "8 rows as one, 24 x 1 x 1");
  EXPECT_EQ(chunks({1 << 14, 3, 1 << 15}, "data=8"), "3 x 1 x 1");
  EXPECT_EQ(chunks({6144, 4, 1 << 15}, ""), "3 rows as one, 12 x 1 x 1");
  // A single position is never divided.
  EXPECT_EQ(chunks({2, 3, int64_t{1} << 27}, ""), "2 rows as one, 6 x 1 x 1");
}

TEST(LossChunks, ChunksHaveAtMostTheGivenLength) {
  const auto chunks = [](int64_t len, const Shape& btv, std::string_view mesh) {
    return text_of(loss_chunks_of_len(len, btv, mesh_of(mesh), "model.loss_chunk_len"));
  };
  EXPECT_EQ(chunks(4, {1, 8, 5}, ""), "2 x 1 x 4");
  EXPECT_EQ(chunks(3, {1, 8, 5}, ""), "3 x 1 x 3");
  EXPECT_EQ(chunks(100, {1, 8, 5}, ""), "1 x 1 x 8");
  EXPECT_EQ(chunks(4, {1, 16, 5}, "seq=2"), "4 x 2 x 2");
  EXPECT_EQ(chunks(1, {1, 16, 5}, "seq=2"), "16 x 1 x 1");
  EXPECT_EQ(chunks(4, {1, 0, 5}, ""), "0 x 1 x 1");
}

// x stands for the logits.
TEST(LossChunks, ChunksOfSharedRowsHaveTheSameSums) {
  const HostTensor logits = testing::normal_values({2, 12, 5}, 1);
  const HostTensor labels({2, 12}, {0,  1, 2, 3, 4, -1, 0, 1, 2, 3, 4, 0,  //
                                    -1, 4, 3, 2, 1, 0,  4, 3, 2, 1, 0, -1});
  const HostTensor ids({2, 12}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0});
  const auto results = [&](const std::optional<LossChunks>& chunks) {
    return eval(
        [&](const Values& v) {
          const auto head = [](const Tensor& x, const std::optional<Tensor>& ids_Bt) {
            return Values{x, *ids_Bt};
          };
          const LossSums sums = !chunks ? loss_sums(v[0], v[1])
                                        : chunked_loss_sums(head, v[0], v[2], v[1], *chunks).sums;
          const Tensor losses =
              !chunks ? softmax_cross_entropy(v[0], v[1]).loss
                      : chunked_cross_entropy(head, v[0], v[2], v[1], *chunks).losses_BT;
          return Values{sums.cross_entropy, sums.squared_log_z, sums.hits,
                        select(v[1] >= 0, losses, 0)};
        },
        {logits, labels, ids}, {.f64 = true});
  };
  const std::vector<HostTensor> whole = results({});
  for (const auto& [joined, shares] : {std::pair(1, 1), {1, 2}, {1, 3}, {2, 1}}) {
    for (const int64_t num_chunks : {1, 2, 3, 4}) {
      const int64_t of_share = 12 * joined / shares;
      const LossChunks chunks{.num_chunks = num_chunks,
                              .rows_joined = joined,
                              .num_shares = shares,
                              .len_of_share = (of_share + num_chunks - 1) / num_chunks};
      const std::vector<HostTensor> sums = results(chunks);
      for (size_t i = 0; i < whole.size(); ++i)
        EXPECT_ALLCLOSE(sums[i], whole[i], 1e-12) << text_of(chunks) << ", sum " << i;
    }
  }
}

CausalLM::Config model_of(int64_t vocab_size) {
  return {.decoder = Decoder::Config{
              .model_dim = 2,
              .vocab_size = vocab_size,
              .layers = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{2}}},
              .lm_head = LmHead::Config{}}};
}
Tree<HostTensor> rows(int64_t num_rows, int64_t num_positions) {
  const HostTensor ids(Type{DType::kI32, {num_rows, num_positions}});
  return {{"batch/input_ids", ids}, {"batch/target_labels", ids}};
}

// Returns how the loss of a row of this many positions is computed, over 2^15 tokens.
std::map<std::string, std::string> forms_of(const CausalLM::Config& cfg, int64_t num_positions) {
  auto layer = build_for_test<CausalLM>(cfg, {});
  const testing::LayerFunction fn = layer.function(rows(1, num_positions), {.training = true});
  const CallForms forms;
  std::vector<Type> types;
  for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
  trace(fn, types);
  return forms.notes();
}

TEST(LossChunks, DefaultIfThereAreManyLogits) {
  CausalLM::Config cfg = model_of(1 << 15);
  const auto form = [&](int64_t num_positions) {
    return forms_of(cfg, num_positions).at("causal_lm/decoder");
  };
  EXPECT_EQ(form(2048), "the loss at once: of 1 x 2048 x 32768 logits, 67108864 on a device");
  EXPECT_EQ(form(4096),
            "the loss by 2 chunks: of 1 x 4096 x 32768 logits, 67108864 on a device at a time");
  cfg.loss_chunk_len = 1024;
  EXPECT_EQ(form(2048),
            "the loss by 2 chunks: of 1 x 2048 x 32768 logits, 33554432 on a device at a time");
  cfg.loss_chunk_len = 4096;
  EXPECT_EQ(form(4096), "the loss at once: of 1 x 4096 x 32768 logits, 134217728 on a device");
}

// What layers of the head report of each chunk is stacked.
TEST(LossChunks, ChunksKeepStatisticsOfTheHead) {
  CausalLM::Config cfg = model_of(5);
  set(cfg, "decoder.lm_head.@stats", "[MaxAbs]");
  cfg.loss_chunk_len = 3;
  auto layer = build_for_test<CausalLM>(cfg, {});
  const auto summaries = layer.call(rows(2, 6), {.training = true}).summaries;
  const auto found = std::ranges::find_if(
      summaries, [](const auto& s) { return s.first.find("lm_head") != std::string::npos; });
  ASSERT_NE(found, summaries.end());
  EXPECT_EQ(found->second.shape(), Shape{2});
  EXPECT_GT(found->second.at(0), 0);
}

// A head with a loss of its own, which is a mean over all positions, or with dropout.
class OwnHead final : public Projection {
 public:
  struct Config {
    bool draws = false;
    AXLE_CONFIG(OwnHead, draws)
  };
  OwnHead(const Config& cfg, const Dims& dims, const Scope& scope)
      : Projection(scope),
        draws_(cfg.draws),
        weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim}})) {}

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = einsum("...d,dv->...v", {x, weight_()});
    if (draws_) return y + random::normal(Invocation::current().key(), y.shape());
    add_aux_loss("penalty", mean(y * y));
    return y;
  }

 private:
  bool draws_;
  Param weight_;
};
AXLE_REGISTER(OwnHead)

TEST(LossChunks, NotUsedIfTheHeadNeedsAllPositions) {
  for (const bool draws : {false, true}) {
    CausalLM::Config cfg = model_of(1 << 15);
    cfg.decoder.get_if<Decoder>()->lm_head = OwnHead::Config{.draws = draws};
    const std::string why =
        draws ? "the head draws random numbers" : "the head adds a loss of its own";
    EXPECT_EQ(forms_of(cfg, 4096).at("causal_lm/decoder"), "the loss at once: " + why);
    cfg.loss_chunk_len = 4;
    EXPECT_EQ(error_of([&] { forms_of(cfg, 6); }),
              "causal_lm.loss_chunk_len: expected no length that divides the rows, since " + why +
                  "; leave it out");
  }
}

// The key is an argument of what is computed again, whether its body reads it or not.
TEST(LossChunks, UsedIfTheHeadIsRematerialised) {
  CausalLM::Config cfg = model_of(1 << 15);
  set(cfg, "decoder.lm_head.@remat", "SaveNothing");
  EXPECT_EQ(forms_of(cfg, 4096).at("causal_lm/decoder"),
            "the loss by 2 chunks: of 1 x 4096 x 32768 logits, 67108864 on a device at a time");
  cfg.decoder.get_if<Decoder>()->lm_head = {OwnHead::Config{.draws = true},
                                            {.remat = SaveNothing{}}};
  EXPECT_EQ(forms_of(cfg, 4096).at("causal_lm/decoder"),
            "the loss at once: the head draws random numbers");
}

TEST(LossChunks, NotUsedIfTheResultOfTheDecoderIsNeeded) {
  CausalLM::Config cfg = model_of(1 << 15);
  set(cfg, "decoder.@stats", "[MaxAbs]");
  const std::string why = "an option of the decoder asks for the logits of the call";
  EXPECT_EQ(forms_of(cfg, 4096).at("causal_lm/decoder"), "the loss at once: " + why);
  cfg.loss_chunk_len = 1024;
  EXPECT_EQ(error_of([&] { forms_of(cfg, 4096); }),
            "causal_lm.loss_chunk_len: expected no length that divides the rows, since " + why +
                "; leave it out");
}

}  // namespace
}  // namespace axle
