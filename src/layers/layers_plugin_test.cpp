// Whole layers return the same results and gradients on the CPU plugin as on the interpreter.
#include "config/set.h"
#include "hlo/work.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/blocks/stacked_parameters_test.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"
#include "nn/remat_policies.h"
#include "testing/layer_inputs.h"
#include "testing/plugin_fixture.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::LayerFunction;

class LayersOnPlugin : public PluginTest {
 protected:
  void expect_same(const TensorFunction& fn, const std::vector<HostTensor>& inputs) {
    PluginTest::expect_same(fn, inputs, 1e-5);
  }
  // Compares results, and gradients for cotangents of all outputs.
  void expect_same(const LayerFunction& fn) {
    expect_same(fn, fn.arguments());
    std::vector<HostTensor> cotangents;
    for (const HostTensor& y : eval(fn, fn.arguments()))
      cotangents.push_back(testing::normal_values(y.shape(), 70 + cotangents.size()));
    expect_same(testing::gradient_function(fn, cotangents), fn.arguments());
  }
};

TransformerLayer::Config layer(std::optional<int64_t> num_kv_heads) {
  return {
      .attention =
          PreNorm::Config{
              .body = Attention::Config{.num_heads = 4,
                                        .num_kv_heads = num_kv_heads,
                                        .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}}},
      .feed_forward =
          PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{24},
                                                      .gate = Linear::Config{.bias = false}},
                          .dropout = Dropout::Config{.rate = 0.2}}};
}

Tree<HostTensor> packed_batch() {
  return {{"batch/input_ids", testing::token_ids()},
          {"batch/target_labels", HostTensor({2, 4}, {1, 2, 0, -1, 4, 0, -1, -1})},
          {"batch/input_positions", HostTensor({2, 4}, {0, 1, 0, 1, 0, 1, 2, 0})},
          {"batch/input_segment_ids", HostTensor({2, 4}, {1, 1, 2, 2, 1, 1, 1, 2})}};
}

TEST_F(LayersOnPlugin, LanguageModelWithLoopRematAndDropout) {
  Decoder::Config decoder{
      .model_dim = 16,
      .vocab_size = 5,
      .layers = Repeat::Config{.num_layers = 3,
                               .layer = {layer(2), {.remat = SaveNames{.names = {"*_proj"}}}}}};
  auto lm = build_for_test<CausalLM>({.decoder = decoder, .z_loss_scale = 0.01}, {});
  expect_same(lm.function(packed_batch(), {.training = true}));
}

TEST_F(LayersOnPlugin, UnrolledLanguageModelWithASeparateHead) {
  Decoder::Config decoder{
      .model_dim = 16,
      .vocab_size = 5,
      .layers =
          Stacked::Config{.num_layers = 2, .layer = Child<Block>(layer({}), {.remat = SaveDots{}})},
      .output_norm = LayerNorm::Config{}};
  decoder.lm_head = LmHead::Config{};
  auto lm = build_for_test<CausalLM>({.decoder = decoder}, {});
  expect_same(lm.function(packed_batch(), {.training = true}));
}

TEST_F(LayersOnPlugin, AttentionWithAllOptions) {
  const Attention::Config cfg{.num_heads = 4,
                              .num_kv_heads = 2,
                              .head_dim = 6,
                              .qkv = RoPE::Config{.inner = SeparateQKV::Config{}},
                              .query_norm = RMSNorm::Config{},
                              .key_norm = RMSNorm::Config{},
                              .mask = SlidingWindowMask::Config{.window = 2},
                              .core = SoftmaxAttention::Config{.logit_cap = 3}};
  expect_same(build_for_test<PostNorm>({.body = cfg}, {.model_dim = 12})
                  .function(testing::LawInputs<Mixer>::make({.model_dim = 12})));
}

using RunProgram =
    std::function<std::vector<HostTensor>(const TensorFunction&, const std::vector<HostTensor>&)>;

// Computes results and gradients in one program. Gradients are with respect to every parameter, by
// path, and every input.
Tree<HostTensor> results_and_gradients(const RunProgram& run, const LayerFunction& fn) {
  std::vector<std::string> paths;
  const TensorFunction both = [&](const Values& x) {
    const Linearized f = vjp(fn, x);
    Values out = f.outputs, cotangents;
    paths.clear();
    for (const Tensor& y : f.outputs) {
      paths.push_back("result/" + std::to_string(paths.size()));
      cotangents.push_back(constant(testing::normal_values(y.shape(), 70 + paths.size())));
    }
    std::vector<std::string> arguments = fn.parameter_paths();
    arguments.insert(arguments.end(), fn.input_paths().begin(), fn.input_paths().end());
    const Values gradients = f.pullback(cotangents);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i]) continue;
      paths.push_back(arguments[i]);
      out.push_back(gradients[i]);
    }
    return out;
  };
  const std::vector<HostTensor> values = run(both, fn.arguments());
  Tree<HostTensor> out;
  for (size_t i = 0; i < values.size(); ++i) out.emplace(paths[i], values[i]);
  return out;
}

TEST_F(LayersOnPlugin, LoopMatchesUnrolledBlocks) {
  constexpr int64_t kLayers = 3;
  const TransformerLayer::Config block{
      .attention =
          PreNorm::Config{
              .body = Attention::Config{.num_heads = 4,
                                        .num_kv_heads = 2,
                                        .qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}}}},
      .feed_forward = PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{24}}}};
  auto written_out =
      build_for_test<Stacked>({.num_layers = kLayers, .layer = block}, {.model_dim = 16});
  auto loop = build_for_test<Repeat>({.num_layers = kLayers, .layer = block}, {.model_dim = 16});
  loop.set_all(stacked_parameters(written_out.parameters(), kLayers));
  const auto inputs = testing::LawInputs<Block>::make({.model_dim = 16});
  const RunProgram on_plugin = [&](const auto&... x) { return run(x...); };
  const auto values = [&](auto& layer) {
    const LayerFunction fn = layer.function(inputs, {.training = true});
    return results_and_gradients(on_plugin, fn);
  };
  const Tree<HostTensor> of_loop = values(loop), of_blocks = values(written_out);
  Tree<HostTensor> expected = stacked_parameters(of_blocks, kLayers);
  for (const char* name : {"result/0", "x"}) expected.emplace(name, of_blocks.at(name));
  ASSERT_EQ(of_loop.size(), expected.size());
  for (const auto& [path, value] : expected) {
    SCOPED_TRACE(path);
    expect_close(of_loop.at(path), value, 1e-6);
  }
}

// All remat policies return the numbers of the plain layer, with dropout too.
TEST_F(LayersOnPlugin, RematerialisedLayersMatchPlainOnes) {
  const RunProgram on_plugin = [&](const auto&... x) { return run(x...); };
  const auto values = [&](const LayerOptions& options) {
    Repeat::Config cfg{.num_layers = 2, .layer = {layer(2), options}};
    auto lm = build_for_test<CausalLM>(
        {.decoder = Decoder::Config{.model_dim = 16, .vocab_size = 5, .layers = cfg}}, {});
    const LayerFunction fn = lm.function(packed_batch(), {.training = true});
    return results_and_gradients(on_plugin, fn);
  };
  const Tree<HostTensor> plain = values({});
  for (const LayerOptions& options :
       {LayerOptions{.remat = SaveNothing{}}, LayerOptions{.remat = SaveDots{}},
        LayerOptions{.remat = SaveNames{.names = {"*_proj"}}}}) {
    const Tree<HostTensor> again = values(options);
    ASSERT_EQ(again.size(), plain.size());
    for (const auto& [path, value] : plain) {
      SCOPED_TRACE(path);
      expect_close(again.at(path), value, 1e-6);
    }
  }
}

TEST_F(LayersOnPlugin, InitialParameters) {
  Decoder::Config decoder{.model_dim = 16,
                          .vocab_size = 5,
                          .layers = Repeat::Config{.num_layers = 3, .layer = layer(2)}};
  auto lm = build_for_test<CausalLM>({.decoder = decoder}, {});
  expect_same(
      [&](const Values& key) {
        Tree<Tensor> all = lm.layer().initialize(random::Key::wrap(key[0]));
        return tensors_of(all);
      },
      {random::key_words(3)});
}

TEST_F(LayersOnPlugin, DecodingStep) {
  Decoder::Config decoder{.model_dim = 16,
                          .vocab_size = 5,
                          .layers = Repeat::Config{.num_layers = 2, .layer = layer(2)}};
  auto lm = build_for_test<CausalLM>({.decoder = decoder}, {});
  Tree<HostTensor> state;
  for (const auto& [path, spec] : lm.layer().decode_state_specs({.batch_size = 2, .max_len = 6}))
    state.emplace(path, testing::normal_values(spec.type.dims, state.size() + 1));
  const LayerFunction fn = lm.function({{"batch/input_ids", HostTensor({2, 1}, {3, 1})},
                                        {"batch/input_positions", HostTensor({2, 1}, {4, 2})}},
                                       {.method = "next_logits", .decoding = true, .state = state});
  expect_same(
      [&](const Values& x) {
        Values out = fn(x);
        OutputCollection collected = fn.collected();
        for (const auto& [path, t] : collected.state) out.push_back(t);
        return out;
      },
      fn.arguments());
}

// The products of 64 tokens by blocks of 8, forward and backward: all 64 pairs of blocks, the 36 on
// and below the diagonal, and the 15 of a window of a block.
TEST_F(LayersOnPlugin, HiddenBlocksOfAttentionAreNotInTheProgram) {
  const auto flops = [&](int64_t before, int64_t after) {
    Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}};
    cfg.mask = TwoSidedWindowMask::Config{.before = before, .after = after};
    set(cfg, "core.blocks", "{from: 1, queries: 8, keys: 8}");
    auto attention = build_for_test<Attention>(cfg, {.model_dim = 8});
    const HostTensor x = testing::normal_values({1, 64, 8}, 3);
    const LayerFunction fn = attention.function({{"x", x}}, {});
    const auto compiled = compile(testing::gradient_function(fn, {x}), fn.arguments());
    const DeviceWork work = device_work(read_hlo_module(compiled->optimized_program()), {});
    EXPECT_FALSE(work.is_lower_bound);
    return work.product_flops;
  };
  const double all = flops(99, 99), causal = flops(99, 0), window = flops(8, 0);
  EXPECT_NEAR((all - causal) / (causal - window), (64.0 - 36) / (36 - 15), 1e-9);
  EXPECT_LT(window, all / 2);
}

}  // namespace
}  // namespace axle
