#include "comparison/eval_layer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text/yaml.h"
#include "comparison/eval_layer_files.h"
#include "inspect/config_description.h"
#include "nn/layer_role.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/language_model.h"
#include "recipes/recipe.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kLinear =
    "class: Linear\nconfig: {bias: true}\ndims: {input_dim: 2, output_dim: 3}\n";

LayerFile layer_file(std::string_view text, const std::string& source = "layer.yaml") {
  return read_layer_file(parse_yaml(text, source), source);
}

std::string file_error(std::string_view text) {
  return error_of([&] { layer_file(text); });
}

std::vector<std::string> names_in(const Tree<HostTensor>& tree) {
  std::vector<std::string> out;
  for (const auto& [name, value] : tree) out.push_back(name);
  return out;
}

class EvalLayer : public ::testing::Test {
 protected:
  Tree<HostTensor> run(std::string_view file, const std::optional<Tree<HostTensor>>& params,
                       const Tree<HostTensor>& inputs, const EvalLayerOptions& options) {
    const auto layer = build_layer(layer_file(file));
    return eval_layer(*layer, params, inputs, options, *runtime_);
  }
  std::string run_error(const std::optional<Tree<HostTensor>>& params,
                        const Tree<HostTensor>& inputs, const EvalLayerOptions& options) {
    return error_of<Error>([&] { run(kLinear, params, inputs, options); });
  }
  const Tree<HostTensor> params_ = {
      {"weight", HostTensor({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f})},
      {"bias", HostTensor({3}, {10.0f, 20.0f, 30.0f})}};
  const Tree<HostTensor> inputs_ = {{"in/x", HostTensor({1, 2}, {1.0f, -1.0f})},
                                    {"cotangent/0", HostTensor({1, 3}, {1.0f, 3.0f, 2.0f})}};
  std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

TEST_F(EvalLayer, OutputAndGradients) {
  const Tree<HostTensor> out = run(kLinear, params_, inputs_, {.grad = true});
  EXPECT_THAT(names_in(out),
              ElementsAre("grad/in/x", "grad/params/bias", "grad/params/weight", "out"));
  EXPECT_EQ(out.at("out"), HostTensor({1, 3}, {7.0f, 17.0f, 27.0f}));
  EXPECT_EQ(out.at("grad/in/x"), HostTensor({1, 2}, {13.0f, 31.0f}));
  EXPECT_EQ(out.at("grad/params/bias"), HostTensor({3}, {1.0f, 3.0f, 2.0f}));
  EXPECT_EQ(out.at("grad/params/weight"),
            HostTensor({2, 3}, {1.0f, 3.0f, 2.0f, -1.0f, -3.0f, -2.0f}));
}

TEST_F(EvalLayer, CotangentsAreReadOnlyForGradients) {
  EXPECT_THAT(names_in(run(kLinear, params_, inputs_, {})), ElementsAre("out"));
}

TEST_F(EvalLayer, SeedInitialises) {
  const Tree<HostTensor> a = run(kLinear, {}, inputs_, {.init_seed = 3});
  EXPECT_THAT(names_in(a), ElementsAre("init_params/bias", "init_params/weight", "out"));
  EXPECT_EQ(a.at("init_params/weight"),
            run(kLinear, {}, inputs_, {.init_seed = 3}).at("init_params/weight"));
  EXPECT_FALSE(a.at("init_params/weight") ==
               run(kLinear, {}, inputs_, {.init_seed = 4}).at("init_params/weight"));
  // Given parameters are used; the drawn ones are only reported.
  EXPECT_EQ(run(kLinear, params_, inputs_, {.init_seed = 3}).at("out"),
            HostTensor({1, 3}, {7.0f, 17.0f, 27.0f}));
}

TEST_F(EvalLayer, CastsToTheDtypeFirst) {
  const Tree<HostTensor> out =
      run(kLinear, params_, inputs_, {.grad = true, .dtype = DType::kBF16});
  EXPECT_EQ(out.at("out").dtype(), DType::kBF16);
  EXPECT_EQ(out.at("grad/params/weight").dtype(), DType::kBF16);
}

TEST_F(EvalLayer, SummariesAndOtherMethods) {
  const Tree<HostTensor> x = {{"in/x", HostTensor::ones({1, 4})}};
  const Tree<HostTensor> weight = {{"weight", HostTensor::ones({5, 4})}};
  const auto attend = run("class: Embedding\ndims: {vocab_size: 5, model_dim: 4}\n", weight, x,
                          {.method = "attend"});
  EXPECT_EQ(attend.at("out"), HostTensor::full({1, 5}, 4));
  const auto attention = run("class: Attention\nconfig: {num_heads: 2}\ndims: {model_dim: 4}\n", {},
                             {{"in/x", HostTensor::ones({1, 2, 4})}}, {.init_seed = 0});
  EXPECT_EQ(attention.count("summaries/core/max_logit"), 1u);
}

TEST_F(EvalLayer, DropoutNeedsAKey) {
  const Tree<HostTensor> x = {{"in/x", HostTensor::ones({1, 64})}};
  constexpr std::string_view kDropout = "class: Dropout\nconfig: {rate: 0.5}\n";
  EXPECT_EQ(run(kDropout, {}, x, {}).at("out"), x.at("in/x"));
  const auto dropped = run(kDropout, {}, x, {.call_key = 1, .training = true}).at("out");
  EXPECT_FALSE(dropped == x.at("in/x"));
  EXPECT_FALSE(dropped == run(kDropout, {}, x, {.call_key = 2, .training = true}).at("out"));
  EXPECT_NE(error_of([&] { run(kDropout, {}, x, {.training = true}); }), "no error");
}

TEST_F(EvalLayer, WrongParametersAreAllNamed) {
  const Tree<HostTensor> wrong = {{"weight", HostTensor::ones({3, 2})},
                                  {"gain", HostTensor::ones({1})}};
  EXPECT_EQ(run_error(wrong, inputs_, {}),
            "params/bias: expected f32[3], got none; params/weight: expected [2, 3], got [3, 2]; "
            "params/gain: not a parameter of this layer");
  EXPECT_EQ(run_error(Tree<HostTensor>{{"weight", HostTensor({2, 3}, {1, 2, 3, 4, 5, 6})},
                                       {"bias", params_.at("bias")}},
                      inputs_, {}),
            "params/weight: expected f32[2, 3], got i32[2, 3]");
  EXPECT_EQ(run_error({}, inputs_, {}),
            "parameters: expected --params FILE or --seed N, got neither");
}

TEST_F(EvalLayer, InputsOfOtherFloatsThanTheParametersAreNamed) {
  Tree<HostTensor> wide = inputs_;
  wide.at("in/x") = wide.at("in/x").astype(DType::kF64);
  EXPECT_THAT(run_error(params_, wide, {}),
              ::testing::StartsWith("in/x: expected f32 as the parameters are, got f64; "
                                    "--precision casts all floats ("));
}

TEST_F(EvalLayer, MissingAndExtraInputs) {
  EXPECT_THAT(run_error(params_, {}, {}), HasSubstr("in/x: "));
  Tree<HostTensor> more = inputs_;
  more.emplace("in/mask", HostTensor::ones({1}));
  EXPECT_THAT(run_error(params_, more, {}), HasSubstr("in/mask: not an input of this method"));
}

TEST_F(EvalLayer, WrongCotangents) {
  EXPECT_EQ(run_error(params_, {{"in/x", HostTensor::ones({1, 2})}}, {.grad = true}),
            "cotangent/0: expected f32[1, 3], got none");
  Tree<HostTensor> shape = inputs_, extra = inputs_;
  shape.at("cotangent/0") = HostTensor::ones({3});
  EXPECT_EQ(run_error(params_, shape, {.grad = true}),
            "cotangent/0: expected f32[1, 3], got f32[3]");
  extra.emplace("cotangent/1", HostTensor::ones({3}));
  EXPECT_EQ(run_error(params_, extra, {.grad = true}),
            "cotangent/1: expected a floating-point output of this number, got none; did you mean "
            "'cotangent/0'? (outputs: cotangent/0)");
  extra = inputs_;
  extra.emplace("cotangent/out", HostTensor::ones({1, 3}));
  EXPECT_EQ(run_error(params_, extra, {.grad = true}),
            "cotangent/0: expected one cotangent for this output, got cotangent/out as well");
}

// A small language model, whose outputs have names.
constexpr std::string_view kModel =
    "class: CausalLM\n"
    "config: {decoder: {class: Decoder, model_dim: 4, vocab_size: 5, layers: {class: Repeat, "
    "num_layers: 2, layer: {class: TransformerLayer, attention: {class: PreNorm, body: {class: "
    "Attention, num_heads: 2, qkv: RoPE}}, feed_forward: {class: PreNorm, body: {class: "
    "FeedForward, hidden_dim: {class: FixedDim, dim: 4}}}}}}, z_loss_scale: 0.5}\n";

Tree<HostTensor> batch() {
  return {{"in/batch/input_ids", HostTensor({1, 3}, {1, 2, 3})},
          {"in/batch/target_labels", HostTensor({1, 3}, {2, 3, 4})}};
}

TEST_F(EvalLayer, CotangentsThatAreNotGivenAreZero) {
  Tree<HostTensor> inputs = batch();
  EXPECT_EQ(error_of<Error>([&] { run(kModel, {}, inputs, {.init_seed = 1, .grad = true}); }),
            "cotangent: expected at least one of cotangent/loss, cotangent/accuracy, "
            "cotangent/cross_entropy, "
            "cotangent/num_targets, cotangent/z_loss, got none");
  const auto gradient = [&](Tree<HostTensor> cotangents) {
    cotangents.merge(Tree<HostTensor>(inputs));
    const Tree<HostTensor> out = run(kModel, {}, cotangents, {.init_seed = 1, .grad = true});
    EXPECT_TRUE(out.contains("out/loss"));
    EXPECT_TRUE(out.contains("out/cross_entropy"));
    return out.at("grad/params/decoder/emb/weight");
  };
  const HostTensor loss = gradient({{"cotangent/loss", HostTensor::scalar(1.0f)}});
  EXPECT_EQ(loss, gradient({{"cotangent/0", HostTensor::ones({1})}}));  // by index; [1] for []
  // loss = cross entropy + z_loss.
  EXPECT_EQ(loss, gradient({{"cotangent/cross_entropy", HostTensor::scalar(1.0f)},
                            {"cotangent/z_loss", HostTensor::scalar(1.0f)}}));
  EXPECT_FALSE(loss == gradient({{"cotangent/z_loss", HostTensor::scalar(1.0f)}}));
  inputs.emplace("cotangent/los", HostTensor::scalar(1.0f));
  EXPECT_THAT(error_of<Error>([&] { run(kModel, {}, inputs, {.init_seed = 1, .grad = true}); }),
              HasSubstr("cotangent/los: expected a floating-point output of this name, got none; "
                        "did you mean 'cotangent/loss'?"));
}

TEST_F(EvalLayer, UnreadInputsAreErrors) {
  const auto error_with = [&](const std::string& name, const HostTensor& value,
                              const EvalLayerOptions& options) {
    Tree<HostTensor> inputs = batch();
    if (options.method != "forward") inputs.erase("in/batch/target_labels");
    inputs.insert_or_assign(name, value);
    return error_of<Error>([&] { run(kModel, {}, inputs, options); });
  };
  const HostTensor ids({1, 3}, {0, 0, 1});
  EXPECT_EQ(error_with("in/batch/input_segmnt_ids", ids, {.init_seed = 1}),
            "in/batch/input_segmnt_ids: nothing in this call reads it; did you mean "
            "'in/batch/input_segment_ids'?");
  EXPECT_EQ(error_with("in/batch/input_segment_ids", ids, {.init_seed = 1}), "no error");
  EXPECT_THAT(error_with("in/batch/target_labels", ids, {.method = "logits", .init_seed = 1}),
              HasSubstr("in/batch/target_labels: nothing in this call reads it"));
  EXPECT_THAT(error_with("in/labels", ids, {.init_seed = 1}),
              HasSubstr("in/labels: not an input of this method"));
  EXPECT_THAT(error_with("state/cache", ids, {.init_seed = 1}),
              HasSubstr("state/cache: not state of this layer"));
  const Tree<HostTensor> context = {{"in/x", HostTensor::ones({1, 2, 4})},
                                    {"in/context/postions", ids}};
  EXPECT_THAT(error_of<Error>([&] {
                run("class: Attention\nconfig: {num_heads: 2}\ndims: {model_dim: 4}\n", {}, context,
                    {.init_seed = 0});
              }),
              HasSubstr("in/context/postions: not an input of this method; did you mean "
                        "'in/context/positions'?"));
}

// A prefill followed by one step returns the same as the whole text at once.
TEST_F(EvalLayer, CachesAreSavedAndRestoredByPath) {
  const auto tokens = [](std::initializer_list<int32_t> ids, std::initializer_list<int32_t> at) {
    const auto n = std::ssize(ids);
    return Tree<HostTensor>{{"in/batch/input_ids", HostTensor({1, n}, ids)},
                            {"in/batch/input_positions", HostTensor({1, n}, at)}};
  };
  const auto logits = [](const Tree<HostTensor>& out, int64_t row) {
    std::vector<double> values;
    for (int64_t v = 0; v < 5; ++v) values.push_back(out.at("out").at(row * 5 + v));
    return values;
  };
  const auto whole =
      run(kModel, {}, tokens({1, 2, 3}, {0, 1, 2}), {.method = "logits", .init_seed = 1});
  const auto prefilled = run(kModel, {}, tokens({1, 2}, {0, 1}),
                             {.method = "prefill", .init_seed = 1, .cache_len = 4});
  const std::string cache = "state/decoder/layers/layer/attention/body/kv_cache/key";
  ASSERT_TRUE(prefilled.contains(cache));
  EXPECT_EQ(prefilled.at(cache).shape(), (Shape{2, 1, 4, 2, 2}));

  Tree<HostTensor> step = tokens({3}, {2});
  for (const auto& [name, value] : prefilled) {
    if (name.starts_with("state/")) step.emplace(name, value);
  }
  const auto extended = run(kModel, {}, step, {.method = "extend_step", .init_seed = 1});
  for (int64_t v = 0; v < 5; ++v) {
    EXPECT_NEAR(logits(prefilled, 1)[v], logits(whole, 1)[v], 1e-5);
    EXPECT_NEAR(logits(extended, 0)[v], logits(whole, 2)[v], 1e-5);
  }

  const auto error = [&](const Tree<HostTensor>& inputs, const char* method,
                         std::optional<int64_t> cache_len = {}) {
    return error_of<Error>([&] {
      run(kModel, {}, inputs, {.method = method, .init_seed = 1, .cache_len = cache_len});
    });
  };
  EXPECT_THAT(error(step, "prefill"), HasSubstr("expected no state for prefill"));
  EXPECT_EQ(error(tokens({1, 2}, {0, 1}), "prefill", 1),
            "--cache-len: expected at least the 2 positions of the input, got 1");
  EXPECT_THAT(error(tokens({1, 2}, {0, 1}), "prefill", int64_t{1} << 40),
              HasSubstr("--cache-len: expected at most 2147483647 positions, got"));
  Tree<HostTensor> wrong = step;
  wrong.at(cache) = HostTensor::ones({2, 2, 4, 2, 2});
  EXPECT_EQ(error(wrong, "extend_step"), cache + ": expected [2, 1, 4, 2, 2], got [2, 2, 4, 2, 2]");
  wrong = step;
  wrong.erase(cache);
  EXPECT_EQ(error(wrong, "extend_step"), cache + ": expected f32[2, 1, 4, 2, 2], got none");
  wrong = step;
  wrong.erase("in/batch/input_positions");
  EXPECT_EQ(
      error(wrong, "extend_step"),
      "in/batch/input_positions: expected the position of each new token in its row, got none");
}

// A lookup takes the nearest row for an id outside the vocabulary.
TEST_F(EvalLayer, IdsMustBeInTheVocabulary) {
  const auto ids_error = [&](std::string_view file, const std::string& name, int32_t id) {
    Tree<HostTensor> inputs = {{"in/batch/input_ids", HostTensor({1, 2}, {0, 1})},
                               {"in/batch/target_labels", HostTensor({1, 2}, {1, -1})}};
    if (name == "in/ids") inputs.clear();
    inputs.insert_or_assign(name, HostTensor({1, 2}, {4, id}));
    return error_of([&] { run(file, {}, inputs, {.init_seed = 1}); });
  };
  constexpr std::string_view kEmbedding = "class: Embedding\ndims: {vocab_size: 5, model_dim: 4}\n";
  for (const auto& [file, name] :
       {std::pair{kEmbedding, "in/ids"}, std::pair{kModel, "in/batch/input_ids"}}) {
    for (const int32_t id : {5, 100000, -1}) {
      EXPECT_EQ(ids_error(file, name, id),
                fmt::format("{}: expected ids from 0 to 4, got {} at element 1", name, id));
    }
    EXPECT_EQ(ids_error(file, name, 4), "no error");
  }
  EXPECT_EQ(ids_error(kModel, "in/batch/target_labels", 5),
            "in/batch/target_labels: expected labels up to 4, got 5 at element 1");
  EXPECT_EQ(ids_error(kModel, "in/batch/target_labels", -7), "no error");
}

// Tokens at positions outside of the caches would silently be lost.
TEST_F(EvalLayer, PositionsMustFitTheCaches) {
  constexpr std::string_view kAttention =
      "class: Attention\nconfig: {num_heads: 2}\ndims: {model_dim: 4}\n";
  const auto error = [&](std::string_view file, const std::string& name, Tree<HostTensor> inputs,
                         const EvalLayerOptions& options, std::initializer_list<int32_t> places) {
    const auto n = std::ssize(places);
    inputs.insert_or_assign(name, HostTensor({1, n}, places));
    return error_of<Error>([&] { run(file, {}, inputs, options); });
  };
  const EvalLayerOptions prefill{.method = "prefill", .init_seed = 1, .cache_len = 8};
  const EvalLayerOptions extend{.method = "extend_step", .init_seed = 1};
  for (const bool is_model : {false, true}) {
    const std::string_view file = is_model ? kModel : kAttention;
    const std::string name = is_model ? "in/batch/input_positions" : "in/context/positions";
    const auto tokens = [&](int64_t n) {
      return is_model
                 ? Tree<HostTensor>{{"in/batch/input_ids", HostTensor::zeros({1, n}, DType::kI32)}}
                 : Tree<HostTensor>{{"in/x", HostTensor::ones({1, n, 4})}};
    };
    Tree<HostTensor> one = tokens(1), two = tokens(2);
    for (const auto& [path, value] : run(file, {}, tokens(3), prefill)) {
      if (!path.starts_with("state/")) continue;
      one.emplace(path, value);
      two.emplace(path, value);
    }
    for (const int32_t place : {8, 100, -3, -2147483647}) {
      EXPECT_EQ(error(file, name, one, extend, {place}),
                fmt::format("{}: expected a position from 0 to 7 for token 0 of 1 in caches of 8 "
                            "positions, got {}",
                            name, place));
    }
    EXPECT_EQ(error(file, name, one, extend, {7}), "no error");
    EXPECT_EQ(error(file, name, two, extend, {6, 7}), "no error");
    for (const int32_t place : {5, 2, 1}) {
      EXPECT_EQ(error(file, name, two, extend, {2, place}),
                fmt::format(
                    "{}: expected position 3 for token 1 of row 0, got {}; the positions of a row "
                    "are consecutive, here from 2",
                    name, place));
    }
    EXPECT_THAT(error(file, name, two, extend, {7, 7}), HasSubstr("from 0 to 6 for token 0 of 2"));
    EXPECT_THAT(error(file, name, two, extend, {6, 8}), HasSubstr("from 0 to 7 for token 1 of 2"));
    EXPECT_THAT(error(file, name, tokens(3), prefill, {6, 7, 8}), HasSubstr("from 0 to 5"));
    EXPECT_EQ(error(file, name, tokens(3), prefill, {5, 6, 7}), "no error");
    EXPECT_THAT(error(file, name, tokens(3), prefill, {0, 1, 1}),
                HasSubstr("expected position 2 for token 2 of row 0"));
  }
}

TEST_F(EvalLayer, PositionsOfASingleCacheMustBeConsecutive) {
  constexpr std::string_view kCache = "class: DenseKVCache\ndims: {num_kv_heads: 1, head_dim: 1}\n";
  const auto error = [&](int32_t first, int32_t second) {
    return error_of<Error>([&] {
      run(kCache, {},
          {{"in/fresh/key", HostTensor::ones({1, 2, 1, 1})},
           {"in/fresh/value", HostTensor::ones({1, 2, 1, 1})},
           {"in/fresh/positions", HostTensor({1, 2}, {first, second})},
           {"state/key", HostTensor::zeros({1, 8, 1, 1})},
           {"state/value", HostTensor::zeros({1, 8, 1, 1})},
           {"state/segment", HostTensor::zeros({1, 8}, DType::kI32)}},
          {.method = "extend_step", .init_seed = 1});
    });
  };
  EXPECT_EQ(error(2, 3), "no error");
  EXPECT_THAT(error(2, 5),
              HasSubstr("in/fresh/positions: expected position 3 for token 1 of row 0"));
}

// The bytes are computed before anything is allocated, since no machine could hold the tensors.
TEST_F(EvalLayer, TensorsThatDoNotFitAreReportedBeforeAllocation) {
  const auto room_error = [&](std::string_view file, const HostTensor& x,
                              const EvalLayerOptions& options) {
    return error_of<Error>([&] { run(file, {}, {{"in/x", x}}, options); });
  };
  EXPECT_THAT(room_error("class: Linear\ndims: {input_dim: 2, output_dim: 500000000000000}\n",
                         HostTensor::ones({1, 2}), {.init_seed = 1}),
              HasSubstr("(parameters and results 12.4 PiB)"));
  EXPECT_THAT(
      room_error("class: Attention\nconfig: {num_heads: 4, head_dim: 64}\ndims: {model_dim: 4}\n",
                 HostTensor::ones({1, 2, 4}),
                 {.method = "prefill", .init_seed = 1, .cache_len = 2147483647}),
      HasSubstr("(caches 4.0 TiB)"));
}

// A mixer called by itself gets its positions in its context.
TEST_F(EvalLayer, MixersDecodeToo) {
  constexpr std::string_view kAttention =
      "class: Attention\nconfig: {num_heads: 2}\ndims: {model_dim: 4}\n";
  const HostTensor x({1, 2, 4}, {1.f, 2.f, 3.f, 4.f, 4.f, 3.f, 2.f, 1.f});
  const auto whole = run(kAttention, {}, {{"in/x", x}}, {.init_seed = 1});
  const auto prefilled = run(kAttention, {}, {{"in/x", x}}, {.method = "prefill", .init_seed = 1});
  EXPECT_EQ(whole.at("out"), prefilled.at("out"));
  EXPECT_EQ(prefilled.at("state/kv_cache/key").shape(), (Shape{1, 2, 2, 2}));
}

// Positions and segments of other types or shapes would silently be broadcast.
TEST_F(EvalLayer, PositionsAndSegmentsMustHaveTheirType) {
  const auto error_with = [&](const std::string& name, const HostTensor& value) {
    Tree<HostTensor> inputs = batch();
    inputs.emplace("in/batch/" + name, value);
    return error_of<ShapeError>([&] { run(kModel, {}, inputs, {.init_seed = 1}); });
  };
  for (const char* name : {"input_positions", "input_segment_ids"}) {
    for (const HostTensor& value :
         {HostTensor({1, 1}, {1}), HostTensor({3}, {1, 1, 1}), HostTensor::ones({1, 3}),
          HostTensor({1, 3}, {int64_t{1}, int64_t{1}, int64_t{1}})}) {
      EXPECT_THAT(error_with(name, value),
                  HasSubstr(std::string(name).substr(6) + ": expected i32[1, 3], got " +
                            to_text(value.type())));
    }
  }
  EXPECT_THAT(error_of<ShapeError>([&] {
                run(kModel, {},
                    {{"in/batch/input_ids", HostTensor::scalar(1)},
                     {"in/batch/target_labels", HostTensor::scalar(1)}},
                    {.init_seed = 1});
              }),
              HasSubstr("decoder: expected ids [B, T], got i32[]"));
  // A layer at the root has no path that could name it.
  EXPECT_THAT(error_of<ShapeError>([&] {
                run(kLinear, params_, {{"in/x", HostTensor::ones({1, 5})}}, {});
              }),
              ::testing::StartsWith("Linear: expected floats [..., 2] for 'x' of Linear, got "));
}

TEST_F(EvalLayer, SlotOptionsAreReadAtTheRoot) {
  const auto out =
      run("class: Linear\nconfig: {bias: true}\ndims: {input_dim: 2, output_dim: 3}\n\"@init\": "
          "{class: Constant, value: 2}\n\"@dtype\": bf16\n",
          {}, {{"in/x", HostTensor::ones({1, 2}, DType::kBF16)}}, {.init_seed = 1});
  EXPECT_EQ(out.at("init_params/weight"), HostTensor::full({2, 3}, 2, DType::kBF16));
  EXPECT_THAT(file_error("class: Linear\ndims: {input_dim: 2, output_dim: 3}\n\"@inti\": Zeros\n"),
              HasSubstr("layer.yaml: no such key: @inti; did you mean '@init'?"));
  EXPECT_THAT(file_error("class: Linear\ndims: {input_dim: 2, output_dim: 3}\n\"@dtype\": f33\n"),
              HasSubstr("layer.yaml: @dtype: "));
}

TEST_F(EvalLayer, ScalarsMayHaveOneDim) {
  const auto out = run(
      "class: Linear\nconfig: {bias: true}\ndims: {input_dim: 1, output_dim: 1}\n",
      Tree<HostTensor>{{"weight", HostTensor::full({1, 1}, 2)}, {"bias", HostTensor::scalar(1.0f)}},
      {{"in/x", HostTensor::ones({1, 1})}}, {});
  EXPECT_EQ(out.at("out"), HostTensor::full({1, 1}, 3));
}

TEST_F(EvalLayer, UnknownMethod) {
  EXPECT_EQ(
      run_error(params_, inputs_, {.method = "foward"}),
      "--method: no method is called 'foward'; did you mean 'forward'? (methods: forward, prefill, "
      "extend_step)");
}

TEST(LayerFile, Mistakes) {
  EXPECT_THAT(file_error("class: Linaer\ndims: {}\n"),
              HasSubstr("layer.yaml: no class is called 'Linaer'; did you mean 'Linear'?"));
  EXPECT_EQ(
      file_error("class: Linear\nconfg: {}\n"),
      "layer.yaml: no such key: confg; did you mean 'config'? (keys: class, config, dims, @dtype, "
      "@dtypes, @compute, @init, @remat, @partition, @activation, @stats)");
  EXPECT_EQ(file_error("class: Linear\ndims: {input_dim: 4}\n"),
            "layer.yaml: REQUIRED but not set: dims.output_dim");
  EXPECT_THAT(file_error("class: Linear\ndims: {input_dim: 4, outptu_dim: 3}\n"),
              HasSubstr("did you mean 'output_dim'"));
  EXPECT_THAT(
      file_error("class: Linear\nconfig: {bais: true}\ndims: {input_dim: 4, output_dim: 3}\n"),
      HasSubstr("did you mean 'bias'"));
  EXPECT_EQ(file_error("class: AdamW\ndims: {}\n"),
            "layer.yaml: class: expected a layer, got AdamW");
  EXPECT_THAT(file_error("class: PreNorm\ndims: {model_dim: 4}\n"),
              HasSubstr("REQUIRED but not set: config.body"));
  EXPECT_THAT(file_error("- 1\n"), HasSubstr("layer.yaml: expected {class: Name"));
}

// The methods that `config list` shows for a role are its layers' methods.
TEST(LayerMethods, AgreeWithTheListing) {
  const auto check = [](Layer& layer, const std::type_info& role) {
    std::map<std::string, std::vector<std::string>> listed, real;
    for (const MethodNames& m : role_methods(role))
      listed[std::string(m.name)] = {m.inputs.begin(), m.inputs.end()};
    for (const Method& m : layer.methods()) real[m.name] = m.inputs;
    real.erase("forward");
    EXPECT_EQ(listed, real) << role.name();
  };
  const auto embedding =
      build_layer(layer_file("class: Embedding\ndims: {vocab_size: 5, model_dim: 4}\n", "x"));
  check(*embedding, typeid(TokenEmbedding));
  const auto norm = build_layer(layer_file("class: RMSNorm\ndims: {input_dim: 4}\n", "x"));
  check(*norm, typeid(Norm));
  const auto model = recipe("quickstart").model.build({}, Scope{});
  check(*model, typeid(Model));
}

}  // namespace
}  // namespace axle
