// Tests training with quantized products: losses close to those of plain products, and the state of
// delayed scaling through loops, rematerialisation, microbatches and experts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/products/fp8_product.h"
#include "layers/products/quantized_product.h"
#include "modifiers/products/product_modifiers.h"
#include "nn/remat_policies.h"
#include "pjrt/pjrt_runtime.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

Child<Model> with_products(Child<Model> model, const Child<Product>& product) {
  apply_modifier(QuantizeProducts::Config{.with = product}, "modify[0]", model);
  return model;
}

Child<Model> quantized_training_model_of(const Child<Product>& product, bool loop,
                                         bool with_remat = false) {
  Child<Block> layer = tiny_layer();
  if (with_remat) layer.options.remat = SaveNothing{};
  Child<Block> stack = Stacked::Config{.num_layers = 2, .layer = layer};
  if (loop) stack = Repeat::Config{.num_layers = 2, .layer = layer};
  return with_products(tiny_model(stack), product);
}

class QuantizedTraining : public ::testing::Test {
 protected:
  StepRun run_of(Child<Model> model, int64_t microbatches = 1) {
    Child<Learner> learner = tiny_learner();
    learner.get_if<Learner>()->microbatches = microbatches;
    return {*runtime_, {.model = std::move(model), .learner = learner, .batch = batch_spec(8, 16)}};
  }
  std::vector<double> take_steps(StepRun& run, int n) {
    SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{});
    std::vector<double> losses;
    for (int i = 0; i < n; ++i) losses.push_back(run.step(input.next()->tensors).at("loss"));
    return losses;
  }
  std::vector<double> losses_of(const Child<Model>& model, int n) {
    StepRun run = run_of(model);
    run.set_state(run.initial_state(3));
    return take_steps(run, n);
  }
  const std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

TEST_F(QuantizedTraining, LossesAreCloseToThoseOfPlainTraining) {
  constexpr int kSteps = 12;
  const std::vector<double> plain =
      losses_of(quantized_training_model_of(PlainProduct::Config{}, true), kSteps);
  ASSERT_LT(plain.back(), plain.front() - 0.1);
  for (const Child<Product>& product :
       {Child<Product>(Int8Product::Config{}),
        Child<Product>(Int8Product::Config{.backward = Int8Backward::kInteger}),
        Child<Product>(Fp8Product::Config{}),
        Child<Product>(Fp8Product::Config{.scales = ScaleGroup::kRow}),
        Child<Product>(DelayedFp8Product::Config{})}) {
    SCOPED_TRACE(product.any().type().name);
    const std::vector<double> losses =
        losses_of(quantized_training_model_of(product, true), kSteps);
    for (int i = 0; i < kSteps; ++i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_NEAR(losses[at], plain[at], 0.05) << "step " << i;
    }
    EXPECT_NE(losses, plain);
  }
}

TEST_F(QuantizedTraining, ExpertsTrainWithDelayedScales) {
  Child<Model> model = tiny_model(tiny_loop());
  replace_config<FeedForward>(model, MoE::Config{.num_experts = 4});
  const std::vector<double> plain = losses_of(model, 8);
  StepRun run = run_of(with_products(model, DelayedFp8Product::Config{}));
  run.set_state(run.initial_state(3));
  const std::vector<double> losses = take_steps(run, 8);
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], plain[i], 0.05) << i;
  const Tree<HostTensor> state = run.state();
  for (const char* of : {"x", "weight", "gradient"}) {
    const HostTensor& history = state.at(fmt::format(
        "state/model/decoder/layers/layer/feed_forward/body/up/product/{}_history", of));
    ASSERT_EQ(history.shape(), (Shape{2, 128})) << "all experts of a layer share it";
    for (int64_t i = 0; i < 7; ++i) EXPECT_GT(history.at(i), 0) << of << i;
    EXPECT_EQ(history.at(7), 0);
  }
}

// The paths of the delayed state of the first layers' output projection.
std::string path_of(const char* layer, const std::string& what) {
  return fmt::format("state/model/decoder/layers/{}/attention/body/output/product/{}", layer, what);
}

TEST_F(QuantizedTraining, DelayedStateIsTheSameInLoopsAndUnderRemat) {
  const DelayedFp8Product::Config delayed{.history_length = 4};
  StepRun plain = run_of(quantized_training_model_of(delayed, /*loop=*/false));
  const Tree<HostTensor> start = plain.initial_state(3);
  plain.set_state(start);
  const std::vector<double> losses = take_steps(plain, 3);
  const Tree<HostTensor> expected = plain.state();

  StepRun remat = run_of(quantized_training_model_of(delayed, false, /*with_remat=*/true));
  remat.set_state(start);
  EXPECT_EQ(take_steps(remat, 3), losses);
  EXPECT_EQ(remat.state(), expected);

  for (const bool with_remat : {false, true}) {
    StepRun loop = run_of(quantized_training_model_of(delayed, /*loop=*/true, with_remat));
    Tree<HostTensor> looped;
    for (const ProgramValue& leaf : loop.leaves()) {
      const size_t at = leaf.name.find("layers/layer/");
      if (at == leaf.name.npos) {
        looped.emplace(leaf.name, start.at(leaf.name));
        continue;
      }
      const auto part = [&](int i) {
        return start.at(fmt::format("{}layers/layer{}/{}", leaf.name.substr(0, at), i,
                                    leaf.name.substr(at + 13)));
      };
      HostTensor both(leaf.type);
      const size_t half = both.bytes().size() / 2;
      std::ranges::copy(part(0).bytes(), both.bytes().begin());
      std::ranges::copy(part(1).bytes(), both.bytes().begin() + static_cast<int64_t>(half));
      looped.emplace(leaf.name, both);
    }
    loop.set_state(looped);
    const std::vector<double> own = take_steps(loop, 3);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(own[i], losses[i], 1e-5);
    const Tree<HostTensor> end = loop.state();
    for (const std::string of : {"x", "weight", "gradient"}) {
      for (const char* what : {"_amax", "_history"}) {
        const HostTensor both = end.at(path_of("layer", of + what));
        const int64_t size = both.size() / 2;
        for (int64_t i = 0; i < both.size(); ++i) {
          const char* const layer = i < size ? "layer0" : "layer1";
          const double want = expected.at(path_of(layer, of + what)).at(i % size);
          EXPECT_NEAR(both.at(i), want, 1e-4 * want) << of << what << i;
        }
      }
      EXPECT_GT(end.at(path_of("layer", of + "_history")).at(0), 0);
    }
  }
}

TEST_F(QuantizedTraining, EachMicrobatchIsOneEntryOfTheHistories) {
  StepRun run =
      run_of(quantized_training_model_of(DelayedFp8Product::Config{.history_length = 4}, true), 2);
  run.set_state(run.initial_state(3));
  take_steps(run, 1);
  const Tree<HostTensor> once = run.state();
  take_steps(run, 1);
  const Tree<HostTensor> twice = run.state();
  for (const std::string of : {"x", "weight", "gradient"}) {
    const auto at = [&](const Tree<HostTensor>& state, const char* what, int64_t i) {
      return state.at(path_of("layer", of + what)).at(i);
    };
    // The first part's amax is in the history, the second part's is the newest.
    EXPECT_GT(at(once, "_history", 0), 0) << of;
    EXPECT_EQ(at(once, "_history", 1), 0) << of;
    EXPECT_GT(at(once, "_amax", 0), 0) << of;
    EXPECT_EQ(at(twice, "_history", 1), at(once, "_amax", 0)) << of;
    EXPECT_EQ(at(twice, "_history", 2), at(once, "_history", 0)) << of;
  }
}

// Nothing freezes them, and there is no gradient of whole numbers.
TEST_F(QuantizedTraining, CodesAreNotTrained) {
  const std::vector<double> losses =
      losses_of(quantized_training_model_of(QuantizedProduct::Config{.group = 4}, true), 12);
  EXPECT_LT(losses.back(), losses.front() - 0.05);  // norms and embeddings are
}

}  // namespace
}  // namespace axle
