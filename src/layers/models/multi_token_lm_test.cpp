// Models that predict several tokens ahead.
#include "layers/models/multi_token_lm.h"

#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "layers/models/chunked_losses_test.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

Child<Block> block(double weight = 1) {
  return PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{6}},
                         .join = Add::Config{.weight = weight}};
}
Child<Block> attending_block() {
  return PreNorm::Config{.body = Attention::Config{.num_heads = 2}};
}
Decoder::Config multi_token_lm_decoder() {
  return {.model_dim = 4,
          .vocab_size = 5,
          .max_seq_len = 8,
          .layers = Repeat::Config{.num_layers = 2, .layer = attending_block()}};
}
MultiTokenLM::Config sequential() {
  return {.decoder = multi_token_lm_decoder(),
          .mtp_depth = 2,
          .mtp_head = SequentialMtpHead::Config{.layer = attending_block()}};
}
MultiTokenLM::Config parallel() {
  MultiTokenLM::Config out{.decoder = multi_token_lm_decoder(),
                           .mtp_head = ParallelMtpHead::Config{.layer = block()},
                           .z_loss_scale = 0.1};
  out.decoder.get_if<Decoder>()->lm_head = LmHead::Config{};
  return out;
}

}  // namespace

template <>
struct testing::LawInputs<MtpHead> {
  static Tree<HostTensor> make(const MixerDims& d) {
    return {{"inputs/trunk", normal_values({2, 4, d.model_dim}, 1)},
            {"inputs/previous", normal_values({2, 4, d.model_dim}, 2)},
            {"inputs/tokens", normal_values({2, 4, d.model_dim}, 3)},
            {"context/segment_ids", HostTensor({2, 4}, {1, 1, 2, 2, 1, 1, 1, 2})}};
  }
};

namespace {

AXLE_CALL_LAWS(SequentialMtpHead, {.model_dim = 4}, {{"default", {.layer = attending_block()}}})
AXLE_CALL_LAWS(ParallelMtpHead, {.model_dim = 4}, {{"default", {.layer = block()}}})
AXLE_LAYER_LAWS(MultiTokenLM, {}, {{"sequential", sequential()}, {"parallel", parallel()}})

TEST(SequentialMtpHead, ProjectsTheNormalisedTokenAndTheResultBefore) {
  auto head = build_for_test<SequentialMtpHead>({.layer = block(/*weight=*/0)}, {.model_dim = 2});
  for (const char* norm : {"token_norm/scale", "hidden_norm/scale"})
    head.set(norm, HostTensor::ones({2}));
  head.set("proj/weight", HostTensor({4, 2}, {1.0f, 0.0f, 0.0f, 1.0f, 10.0f, 0.0f, 0.0f, 10.0f}));
  const HostTensor h = head.call({{"inputs/trunk", HostTensor({1, 1, 2}, {7.0f, 7.0f})},
                                  {"inputs/tokens", HostTensor({1, 1, 2}, {3.0f, 4.0f})},
                                  {"inputs/previous", HostTensor({1, 1, 2}, {0.0f, 2.0f})}})
                           .outputs[0];
  EXPECT_NEAR(h.at(0), 3 / std::sqrt(12.5), 1e-5);
  EXPECT_NEAR(h.at(1), 4 / std::sqrt(12.5) + 10 * std::sqrt(2), 1e-5);
}

Tree<HostTensor> multi_token_lm_batch() {
  return {{"batch/input_ids", testing::token_ids()},
          {"batch/target_labels", HostTensor({2, 4}, {1, 2, -1, 3, 4, 0, 2, 1})}};
}
Tree<HostTensor> outputs_of(testing::TestLayer<MultiTokenLM>& lm, const Tree<HostTensor>& inputs) {
  const std::vector<HostTensor> values = lm.call(inputs, {.training = true}).outputs;
  std::vector<std::string> names = {"loss", "accuracy", "cross_entropy"};
  for (int64_t k = 1; k <= std::ssize(values) - 5; ++k)
    names.push_back("mtp_cross_entropy/" + std::to_string(k));
  names.insert(names.end(), {"mtp_loss", "num_targets"});
  Tree<HostTensor> out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(names[i], values[i]);
  return out;
}

// A head that changes nothing predicts what the model itself predicts: each of its cross entropies
// is that of the model's own logits with a later label.
TEST(MultiTokenLM, HeadsAreTrainedOnLaterTargetsOfTheirSegment) {
  Decoder::Config trunk = multi_token_lm_decoder();
  trunk.output_norm = RMSNorm::Config{.eps = 1e-12f};
  MultiTokenLM::Config cfg{.decoder = trunk,
                           .mtp_depth = 3,
                           .mtp_head = ParallelMtpHead::Config{.layer = block(/*weight=*/0)},
                           .mtp_norm = RMSNorm::Config{.eps = 1e-12f},
                           .mtp_scale = 0.6};
  auto lm = build_for_test<MultiTokenLM>(cfg, {});
  for (const char* norm : {"decoder/output_norm", "mtp_norm1", "mtp_norm2", "mtp_norm3"})
    lm.set(std::string(norm) + "/scale", HostTensor::ones({4}));
  Tree<HostTensor> inputs = multi_token_lm_batch();
  const std::vector<int> segments = {1, 1, 1, 2, 1, 1, 1, 1};
  inputs.emplace("batch/input_segment_ids", HostTensor({2, 4}, {1, 1, 1, 2, 1, 1, 1, 1}));
  const Tree<HostTensor> out = outputs_of(lm, inputs);
  inputs.erase("batch/target_labels");
  const HostTensor logits = lm.call(inputs, {.method = "logits"}).outputs[0];
  const HostTensor labels = multi_token_lm_batch().at("batch/target_labels");
  double total = 0;
  for (int64_t k = 1; k <= 3; ++k) {
    double sum = 0;
    for (int64_t i = 0; i < 8; ++i) {
      const bool in_row = i % 4 + k < 4;
      if (!in_row || segments[i] != segments[i + k] || labels.at(i + k) < 0) continue;
      double z = 0;
      for (int64_t v = 0; v < 5; ++v) z += std::exp(logits.at(i * 5 + v));
      sum += std::log(z) - logits.at(i * 5 + static_cast<int64_t>(labels.at(i + k)));
    }
    EXPECT_GT(sum, 0);
    EXPECT_NEAR(out.at("mtp_cross_entropy/" + std::to_string(k)).at(0), sum / 7, 1e-5) << k;
    total += sum / 7;
  }
  EXPECT_EQ(out.at("num_targets").at(0), 7);
  EXPECT_NEAR(out.at("mtp_loss").at(0), 0.6 / 3 * total, 1e-5);
  EXPECT_NEAR(out.at("loss").at(0), out.at("cross_entropy").at(0) + 0.6 / 3 * total, 1e-5);
}

// Head 2 reads token i + 2 at position i, and through head 1 the token before it, but none later.
TEST(MultiTokenLM, HeadSeesTheTokensBeforeItsTarget) {
  auto lm = build_for_test<MultiTokenLM>(sequential(), {});
  const auto loss_with = [&](int32_t last_id) {
    // The target of head 2 at position 0 is the label at position 2; no other label counts for it.
    Tree<HostTensor> inputs = {{"batch/input_ids", HostTensor({1, 4}, {1, 4, 2, last_id})},
                               {"batch/target_labels", HostTensor({1, 4}, {-1, -1, 3, -1})}};
    return outputs_of(lm, inputs);
  };
  EXPECT_EQ(loss_with(0), loss_with(3)) << "no token after the target";
  const auto loss_after = [&](int32_t id) {
    Tree<HostTensor> inputs = {{"batch/input_ids", HostTensor({1, 4}, {1, 4, id, 0})},
                               {"batch/target_labels", HostTensor({1, 4}, {-1, -1, 3, -1})}};
    return outputs_of(lm, inputs);
  };
  const Tree<HostTensor> a = loss_after(0), b = loss_after(2);
  for (const char* name : {"mtp_cross_entropy/1", "mtp_cross_entropy/2"})
    EXPECT_NE(a.at(name), b.at(name)) << name;
}

TEST(MultiTokenLM, ChunksOfLogitsHaveTheSameLosses) {
  const MultiTokenLM::Config whole = sequential();
  for (const int64_t chunk : {1, 3}) {
    SCOPED_TRACE(chunk);
    MultiTokenLM::Config cfg = whole;
    cfg.loss_chunk_len = chunk;
    testing::expect_same_loss_and_gradients<MultiTokenLM>(cfg, whole, multi_token_lm_batch());
  }
}

TEST(MultiTokenLM, ChunksOfLogitsNeverHoldAllOfThem) {
  MultiTokenLM::Config cfg = sequential();
  const int64_t vocab_size = build_for_test<MultiTokenLM>(cfg, {}).layer().vocab_size();
  EXPECT_TRUE(
      testing::step_has_whole_logits<MultiTokenLM>(cfg, multi_token_lm_batch(), vocab_size));
  cfg.loss_chunk_len = 1;
  EXPECT_FALSE(
      testing::step_has_whole_logits<MultiTokenLM>(cfg, multi_token_lm_batch(), vocab_size));
}

// Every parameter of CausalLM keeps its path and its gradient by its own loss.
TEST(MultiTokenLM, MatchesCausalLMExceptForItsHeads) {
  MultiTokenLM::Config cfg = sequential();
  cfg.mtp_scale = 0;
  auto with = build_for_test<MultiTokenLM>(cfg, {});
  auto without = build_for_test<CausalLM>({.decoder = cfg.decoder}, {});
  Tree<HostTensor> shared;
  for (const auto& [path, value] : without.parameters()) {
    const std::string same = "multi_token_lm" + path.substr(path.find('/'));
    shared.emplace(path, with.parameters().at(same));
  }
  without.set_all(shared);
  EXPECT_EQ(with.call(multi_token_lm_batch()).outputs[0],
            without.call(multi_token_lm_batch()).outputs[0]);
  EXPECT_EQ(with.layer().decode_state_specs({}).size(),
            without.layer().decode_state_specs({}).size());
  EXPECT_GT(with.parameters().size(), without.parameters().size());
}

}  // namespace
}  // namespace axle
