// Compares layers with numbers of AXLearn: initial parameters, results and gradients of every
// fixture that our layers cover.
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/convolution/convolution.h"
#include "layers/dense/linear.h"
#include "layers/dropout/dropout.h"
#include "layers/models/causal_lm.h"
#include "layers/moving_average.h"
#include "layers/norms/batch_norms.h"
#include "layers/norms/norm.h"
#include "layers/recurrent/recurrent.h"
#include "nn/init_rules.h"
#include "testing/axlearn_fixture.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using testing::AxlearnFixture;
using testing::CallOptions;
using testing::kBlockNames;
using testing::NameRules;

// Returns a function that builds a layer as the root of its tree.
template <class L, class Dims = typename L::Role::Dims>
std::function<std::unique_ptr<Layer>()> at_root(typename L::Config cfg, Dims dims,
                                                LayerOptions options = {}) {
  return [=] { return Child<typename L::Role>(cfg, options).build(dims, Scope{}); };
}

class AxlearnParity : public ::testing::TestWithParam<AxlearnFixture> {};
TEST_P(AxlearnParity, AgreesWithTheFixture) { testing::expect_parity(GetParam()); }

std::string case_name(const ::testing::TestParamInfo<AxlearnFixture>& info) {
  return test_name(info.param.file);
}

const std::vector<AxlearnFixture> kLayers = {
    {.file = "layers/linear", .build = at_root<Linear>({}, {.input_dim = 32, .output_dim = 24})},
    {.file = "layers/rms_norm", .build = at_root<RMSNorm>({.eps = 1e-8f}, {.input_dim = 32})},
    {.file = "layers/layer_norm", .build = at_root<LayerNorm>({.eps = 1e-8f}, {.input_dim = 32})},
    {.file = "layers/group_norm",
     .build = at_root<GroupNorm>({.num_groups = 4, .eps = 1e-8f}, {.input_dim = 32})},
    {.file = "layers/conv1d_same",
     .build = at_root<Conv1D>({.window = 3, .padding = SamePadding{}},
                              {.input_dim = 8, .output_dim = 12})},
    {.file = "layers/conv2d",
     .build = at_root<Conv2D>({.window = {3, 3}, .strides = {2, 2}, .padding = SamePadding{}},
                              {.input_dim = 3, .output_dim = 6})},
    {.file = "layers/dropout",
     .build = at_root<Dropout>({.rate = 0.3}, {}),
     .call = {.training = true}},
    {.file = "layers/embedding_attend",
     .build = at_root<Embedding>({}, {.vocab_size = 50, .model_dim = 32}),
     .call = {.method = "attend"}},
};
// Dense layers: numbers of testdata/reference/axlearn/make_dense.py.

std::vector<AxlearnFixture> dense_fixtures() {
  std::vector<AxlearnFixture> out;
  const auto add = [&](const char* name, auto build, CallOptions call = {}) {
    out.push_back({.file = std::string("layers/") + name,
                   .build = std::move(build),
                   .inputs = {{"inputs", "x"}},
                   .call = std::move(call)});
  };
  const CallOptions training{.training = true};
  const ConvolutionLayer::Dims line{.input_dim = 8, .output_dim = 12},
      image{.input_dim = 4, .output_dim = 6};
  add("conv1d_causal", at_root<Conv1D>({.window = 3,
                                        .stride = 2,
                                        .dilation = 2,
                                        .padding = CausalPadding{},
                                        .num_groups = 2,
                                        .bias = false},
                                       line));
  add("conv1d_explicit",
      at_root<Conv1D>({.window = 4, .padding = ExplicitPadding{.dims = {{.low = 2, .high = 1}}}},
                      line));
  const VarianceScaling by_out{.fan = Fan::kOut, .distribution = Distribution::kTruncatedNormal};
  add("conv1d_per_group",
      at_root<Conv1D>({.window = 3, .num_groups = 2}, line,
                      {.init = Init(InitPerGroup{.num_groups = 2, .init = by_out})}));
  add("conv2d_causal", at_root<Conv2D>({.window = {3, 2},
                                        .strides = {2, 1},
                                        .dilation = {1, 2},
                                        .padding = CausalPadding{},
                                        .num_groups = 2},
                                       image));
  add("conv2d_same_even",
      at_root<Conv2D>({.window = {2, 3}, .strides = {2, 3}, .padding = SamePadding{}}, image));
  const Norm::Dims channels{.input_dim = 8};
  add("group_norm_rms", at_root<GroupNorm>({.num_groups = 2,
                                            .eps = 1e-8f,
                                            .moments = GroupMoments::kRMSNorm,
                                            .axes = std::vector<int64_t>{}},
                                           channels));
  add("group_norm_segments", at_root<GroupNorm>({.num_groups = 4, .eps = 1e-8f}, channels));
  add("group_norm_rms_segments", at_root<GroupNorm>({.num_groups = 4,
                                                     .eps = 1e-8f,
                                                     .moments = GroupMoments::kRMSNorm,
                                                     .axes = std::vector<int64_t>{1}},
                                                    channels));
  add("rms_norm_zero_centred",
      at_root<RMSNorm>({.eps = 1e-8f, .zero_centred = ZeroCentred::kInput}, channels));
  add("l2_norm", at_root<L2Norm>({.eps = 1e-8f}, channels));
  add("batch_norm", at_root<BatchNorm>({.eps = 1e-8f}, channels));
  add("batch_norm_training", at_root<BatchNorm>({.decay = 0.9, .eps = 1e-8f}, channels), training);
  const VarianceScaling truncated{
      .scale = 0.1, .fan = Fan::kNone, .distribution = Distribution::kTruncatedNormal};
  const InitByName by_name{
      .rules = {{.pattern = "**.bias", .init = Gaussian{.std = 0.2, .mean = 1}},
                {.pattern = "**.weight", .init = truncated}}};
  add("unit_norm_linear",
      at_root<UnitNormLinear>({}, {.input_dim = 8, .output_dim = 5}, {.init = Init(by_name)}));
  add("multi_linear",
      at_root<MultiLinear>({}, {.input_dim = 8, .num_outputs = 3, .output_dim = 5}));
  add("moving_average", at_root<MovingAverage>({.min_weight = 0.3}, {.shape = {8}}), training);
  add("stochastic_depth_row", at_root<StochasticDepth>({.rate = 0.4}, {}), training);
  add("stochastic_depth_batch",
      at_root<StochasticDepth>({.rate = 0.4, .mode = DropUnit::kBatch}, {}), training);
  add("drop_token", at_root<DropToken>({.rate = 0.4, .num_first = 2}, {}), training);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Dense, AxlearnParity, ::testing::ValuesIn(dense_fixtures()), case_name);

std::vector<AxlearnFixture> recurrent_fixtures() {
  std::vector<AxlearnFixture> out;
  const auto add = [&](const char* name, auto build) {
    out.push_back({.file = std::string("rnn/") + name,
                   .build = std::move(build),
                   .parameters = {{"repeat/", ""}},
                   .inputs = {{"time_major_inputs", "x"}}});
  };
  const LSTMCell::Config small{.hidden_dim = 6};
  LSTMCell::Config normed = small, capped = small;
  normed.norm = LayerNorm::Config{.eps = 0.1f};
  capped.norm = normed.norm;
  capped.max_cell_value = 0.5;
  add("lstm", at_root<LSTMCell>({.hidden_dim = 12}, {.input_dim = 8, .output_dim = 8}));
  add("lstm_norm", at_root<LSTMCell>(capped, {.input_dim = 8, .output_dim = 5}));
  add("lstm_unprojected", at_root<LSTMCell>({}, {.input_dim = 8, .output_dim = 5}));
  add("stacked", at_root<StackedCells>({.layers = {small, normed}, .dims = {5}},
                                       {.input_dim = 8, .output_dim = 7}));
  add("repeated",
      at_root<RepeatedCells>({.num_layers = 3, .layer = small}, {.input_dim = 8, .output_dim = 8}));
  return out;
}
INSTANTIATE_TEST_SUITE_P(Recurrent, AxlearnParity, ::testing::ValuesIn(recurrent_fixtures()),
                         case_name);

INSTANTIATE_TEST_SUITE_P(Layers, AxlearnParity, ::testing::ValuesIn(kLayers), case_name);

// Attention.

const HeadInputLinear::Config kBiasedIn{.bias = true};
const HeadOutputLinear::Config kBiasedOut{.bias = true};
const SeparateQKV::Config kSeparate{.q_proj = kBiasedIn, .k_proj = kBiasedIn, .v_proj = kBiasedIn};
const NameRules kAttentionNames = {{"i_proj/i_proj/qkv_proj/", "qkv/inner/"},
                                   {"i_proj/", "qkv/"},
                                   {"o_proj/", "output/"},
                                   {"scale_query/norm/", "query_norm/"},
                                   {"scale_key/norm/", "key_norm/"}};
const NameRules kAttentionInputs = {{"query_positions", "context/positions"},
                                    {"segment_ids", "context/segment_ids"},
                                    {"query", "x"},
                                    {"key", "published/source"},
                                    {"value", "published/values"}};

AxlearnFixture attention(std::string file, Attention::Config cfg) {
  return {.file = "attention/" + file,
          .build = at_root<Attention>(std::move(cfg), {.model_dim = 32}),
          .parameters = kAttentionNames,
          .inputs = kAttentionInputs};
}

std::vector<AxlearnFixture> attention_fixtures() {
  const RMSNorm::Config norm{.eps = 1e-8f};
  std::vector<AxlearnFixture> all = {
      attention("mha_causal", {.num_heads = 4, .qkv = kSeparate, .output = kBiasedOut}),
      attention("gqa_causal",
                {.num_heads = 4, .num_kv_heads = 2, .qkv = kSeparate, .output = kBiasedOut}),
      attention("mha_logit_cap", {.num_heads = 4,
                                  .qkv = kSeparate,
                                  .output = kBiasedOut,
                                  .core = SoftmaxAttention::Config{.logit_cap = 5}}),
      attention("qk_norm", {.num_heads = 4,
                            .qkv = kSeparate,
                            .output = kBiasedOut,
                            .query_norm = norm,
                            .key_norm = norm}),
      attention("sliding_window", {.num_heads = 4,
                                   .qkv = kSeparate,
                                   .output = kBiasedOut,
                                   .mask = SlidingWindowMask::Config{.window = 4}}),
      attention("sigmoid", {.num_heads = 4,
                            .qkv = kSeparate,
                            .output = kBiasedOut,
                            .core = SigmoidAttention::Config{.bias_len = 12}}),
      attention("cross", {.num_heads = 4,
                          .qkv = SourceQKV::Config{.value_source = "values",
                                                   .q_proj = kBiasedIn,
                                                   .k_proj = kBiasedIn,
                                                   .v_proj = kBiasedIn},
                          .output = kBiasedOut,
                          .mask = std::nullopt}),
      attention("mha_rope_segments", {.num_heads = 4,
                                      .qkv = RoPE::Config{.inner = FusedQKV::Config{.bias = true}},
                                      .output = kBiasedOut}),
  };
  all.back().key_paths = {{"i_proj/i_proj/qkv_proj/weight", "0.1.x3.0"},
                          {"i_proj/i_proj/qkv_proj/bias", "0.1.x3.1"},
                          {"o_proj/weight", "1.0"},
                          {"o_proj/bias", "1.1"}};
  return all;
}
INSTANTIATE_TEST_SUITE_P(Attention, AxlearnParity, ::testing::ValuesIn(attention_fixtures()),
                         case_name);

// Blocks.

FeedForward::Config feed_forward(Activation activation, bool gated) {
  FeedForward::Config cfg{.hidden_dim = FixedDim{64}, .activation = std::move(activation)};
  if (gated) cfg.gate = Linear::Config{.bias = false};
  return cfg;
}

TransformerLayer::Config transformer_layer(int64_t num_kv_heads) {
  const RMSNorm::Config norm{.eps = 1e-8f};
  return {
      .attention =
          PreNorm::Config{
              .norm = norm,
              .body = Attention::Config{.num_heads = 4,
                                        .num_kv_heads = num_kv_heads,
                                        .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}}},
      .feed_forward = PreNorm::Config{.norm = norm, .body = feed_forward({"silu", &silu}, true)}};
}

// Returns the locations of a layer's parameters in the key tree, for a layer at location `at`.
std::vector<std::pair<std::string, std::string>> layer_key_paths(const std::string& prefix,
                                                                 const std::string& at) {
  std::vector<std::pair<std::string, std::string>> places = {
      {"self_attention/norm/scale", "0.0.0"},
      {"self_attention/attention/i_proj/i_proj/qkv_proj/weight", "0.1.0.1.0.0"},
      {"self_attention/attention/o_proj/weight", "0.1.1.0"},
      {"feed_forward/norm/scale", "1.0.0"},
      {"feed_forward/linear1_0/weight", "1.1.0"},
      {"feed_forward/linear1_1/weight", "1.2.0"},
      {"feed_forward/linear2/weight", "1.3.0"}};
  for (auto& [path, place] : places) {
    path = prefix + path;
    place = at + place;
  }
  return places;
}

std::vector<AxlearnFixture> block_fixtures() {
  const RMSNorm::Config norm{.eps = 1e-8f};
  const NameRules inputs = {{"inputs", "x"}, {"data", "x"}};
  return {
      {.file = "blocks/ffn_gelu_post",
       .build = at_root<PostNorm>({.norm = norm, .body = feed_forward({"gelu", &gelu}, false)},
                                  {.model_dim = 32}),
       .parameters = kBlockNames,
       .inputs = inputs,
       .key_paths = {{"norm/scale", "0.0"}, {"linear1/weight", "1.0"}, {"linear2/weight", "2.0"}}},
      {.file = "blocks/ffn_relu2",
       .build = at_root<PreNorm>(
           {.norm = norm, .body = feed_forward({"squared_relu", &squared_relu}, false)},
           {.model_dim = 32}),
       .parameters = kBlockNames,
       .inputs = inputs,
       .key_paths = {{"norm/scale", "0.0"}, {"linear1/weight", "1.0"}, {"linear2/weight", "2.0"}}},
      {.file = "blocks/ffn_swiglu",
       .build = at_root<PreNorm>({.norm = norm, .body = feed_forward({"silu", &silu}, true)},
                                 {.model_dim = 32}),
       .parameters = kBlockNames,
       .inputs = inputs,
       .key_paths = {{"norm/scale", "0.0"},
                     {"linear1_0/weight", "1.0"},
                     {"linear1_1/weight", "2.0"},
                     {"linear2/weight", "3.0"}}},
      {.file = "blocks/transformer_layer",
       .build = at_root<TransformerLayer>(transformer_layer(2), {.model_dim = 32}),
       .parameters = kBlockNames,
       .inputs = inputs,
       .key_paths = layer_key_paths("", "")},
      {.file = "blocks/repeated_3",
       .build =
           at_root<Repeat>({.num_layers = 3, .layer = transformer_layer(2)}, {.model_dim = 32}),
       .parameters = testing::joined({{"repeat/", ""}}, kBlockNames),
       .inputs = inputs,
       .key_paths = layer_key_paths("repeat/layer/", "x3.")},
  };
}
INSTANTIATE_TEST_SUITE_P(Blocks, AxlearnParity, ::testing::ValuesIn(block_fixtures()), case_name);

// Language models.

AxlearnFixture language_model(std::string file, int64_t num_kv_heads, double z_loss_scale,
                              bool tied, CallOptions call) {
  Decoder::Config decoder{
      .model_dim = 32,
      .vocab_size = 61,
      .layers = Repeat::Config{.num_layers = 2, .layer = transformer_layer(num_kv_heads)},
      .output_norm = RMSNorm::Config{.eps = 1e-8f}};
  if (!tied) decoder.lm_head = LmHead::Config{};
  const Init init =
      VarianceScaling{.scale = 0.02, .fan = Fan::kNone, .distribution = Distribution::kNormal};
  auto key_paths = layer_key_paths("decoder/transformer/repeat/layer/", "0.1.x2.");
  key_paths.emplace_back("decoder/emb/token_emb/weight", "0.0.0.0");
  key_paths.emplace_back("decoder/output_norm/scale", "0.2.0");
  if (!tied) key_paths.emplace_back("decoder/lm_head/weight", "0.4.0");
  return {.file = "lm/" + file,
          .build = at_root<CausalLM>({.decoder = decoder, .z_loss_scale = z_loss_scale}, {},
                                     {.init = init}),
          .parameters = testing::kModelNames,
          .inputs = {{"input_batch/", "batch/"}},
          .call = std::move(call),
          .key_paths = key_paths,
          .tolerance = 2e-5};
}

INSTANTIATE_TEST_SUITE_P(
    LanguageModels, AxlearnParity,
    ::testing::Values(language_model("lm_tied", 2, 0, true, {.training = true}),
                      language_model("lm_packed", 2, 0.001, true, {.training = true}),
                      language_model("lm_zloss_untied", 1, 0.01, false, {.training = true}),
                      language_model("lm_tied_logits", 2, 0, true, {.method = "logits"}),
                      language_model("lm_zloss_untied_logits", 1, 0.01, false,
                                     {.method = "logits"})),
    case_name);

}  // namespace
}  // namespace axle
