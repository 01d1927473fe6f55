#include "infer/generator.h"

#include <gmock/gmock.h>

#include "config/register.h"
#include "infer/decode_programs.h"
#include "interop/tiny_model_test.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/blocks/stack.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "runtime/interpreter_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GeneratorTest : public ::testing::Test {
 protected:
  Generated generate(TinyModel& tiny, const std::vector<TokenIds>& prompts,
                     const GenerateOptions& options, Generator::Options settings = {},
                     const Generator::OnToken& on_token = {}) {
    return Generator(*tiny.model, tiny.parameters, runtime_, settings)
        .generate(prompts, options, on_token);
  }
  TokenIds tokens(TinyModel& tiny, const TokenIds& prompt, const GenerateOptions& options,
                  Generator::Options settings = {}) {
    return generate(tiny, {prompt}, options, settings).rows.at(0).tokens;
  }
  std::string error(TinyModel& tiny, const std::vector<TokenIds>& prompts,
                    const GenerateOptions& options, Generator::Options settings = {}) {
    return error_of([&] { generate(tiny, prompts, options, settings); });
  }
  InterpreterRuntime runtime_{1};
};

// Returns the most likely next token of the whole text, computed without caches.
int32_t next_by_forward(TinyModel& tiny, const TokenIds& text, DType dtype) {
  std::vector<HostTensor> arguments;
  for (const auto& [path, value] : tiny.parameters) arguments.push_back(value.astype(dtype));
  arguments.push_back(HostTensor({1, std::ssize(text)}, std::span<const int32_t>(text)));
  const HostTensor logits = eval(
                                [&](const Values& x) {
                                  Tree<Tensor> parameters;
                                  auto at = x.begin();
                                  for (const auto& [path, value] : tiny.parameters)
                                    parameters.emplace(path, *at++);
                                  return Values{functional(*tiny.model, parameters, {}, [&] {
                                                  return tiny.model->logits({{"input_ids", *at}});
                                                }).first};
                                },
                                arguments)[0]
                                .astype(DType::kF32);
  const auto last = logits.values<float>().last(logits.shape().back());
  return static_cast<int32_t>(std::ranges::max_element(last) - last.begin());
}

TokenIds greedy_by_forward(TinyModel& tiny, TokenIds text, int64_t count,
                           DType dtype = DType::kF32) {
  TokenIds out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(next_by_forward(tiny, text, dtype));
    text.push_back(out.back());
  }
  return out;
}

const TokenIds kPrompt = {3, 14, 15, 9, 26};

TEST_F(GeneratorTest, PrefillAndStepsAreTheFullForwardPassStacked) {
  TinyModel tiny = random_model(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  const TokenIds expected = greedy_by_forward(tiny, kPrompt, 20);
  EXPECT_GT(std::set<int32_t>(expected.begin(), expected.end()).size(), 3u)
      << "the model says always the same";
  EXPECT_EQ(tokens(tiny, kPrompt, {.max_tokens = 20}), expected);
}

TEST_F(GeneratorTest, PrefillAndStepsAreTheFullForwardPassRepeated) {
  TinyModel tiny = random_model(Repeat::Config{.num_layers = 2, .layer = tiny_layer()});
  EXPECT_EQ(tokens(tiny, kPrompt, {.max_tokens = 20}), greedy_by_forward(tiny, kPrompt, 20));
}

TEST_F(GeneratorTest, PagesMustHoldAllTexts) {
  const auto with_pages = [](int64_t num_pages) {
    TransformerLayer::Config layer = tiny_layer();
    layer.attention =
        PreNorm::Config{.body = Attention::Config{.num_heads = 2,
                                                  .kv_cache = PagedKVCache::Config{
                                                      .page_size = 4, .num_pages = num_pages}}};
    return random_model(Stacked::Config{.num_layers = 2, .layer = layer});
  };
  // Rows of 5 + 7 and 2 + 7 cached tokens take 3 pages each.
  const TokenIds other = {8, 2};
  TinyModel enough = with_pages(6), few = with_pages(5);
  const auto rows = generate(enough, {kPrompt, other}, {.max_tokens = 8}).rows;
  EXPECT_EQ(rows[0].tokens, greedy_by_forward(enough, kPrompt, 8));
  EXPECT_EQ(rows[1].tokens, greedy_by_forward(enough, other, 8));
  EXPECT_EQ(error_of<ConfigError>([&] {
              generate(few, {kPrompt, other}, {.max_tokens = 8});
            }),
            "model.decoder.layers.layer.attention.body.kv_cache.num_pages: expected at least 6 "
            "pages of 4 tokens for 2 sequences at once, got 5; set more pages, or start fewer or "
            "shorter sequences");
}

/// x_t -> x_t + x_{t-1}: a user's own mixer, with a correct or a faulty decode state.
class OwnShift final : public Mixer {
 public:
  struct Config {
    /// How the decode state is handled: "kept", "undeclared", "misnamed" or "mistyped".
    std::string state = "kept";
    AXLE_CONFIG(OwnShift, state)
  };
  OwnShift(const Config& cfg, const Dims& dims, const Scope& scope)
      : Mixer(scope), state_(cfg.state), model_dim_(dims.model_dim) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override {
    if (state_ == "undeclared") return {};
    const DType dtype = state_ == "mistyped" ? DType::kBF16 : dims.dtype;
    return {{join_path(path(), "last"), {.type = {dtype, {dims.batch_size, model_dim_}}}}};
  }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor last_BD = decoding() ? astype(state("last"), x_BTD.dtype())
                                      : zeros({x_BTD.dim(0), model_dim_}, x_BTD.dtype());
    if (decoding()) set_state(state_ == "misnamed" ? "lats" : "last", context.last(x_BTD));
    const Tensor all = concatenate({expand_dims(last_BD, 1), x_BTD}, 1);
    return x_BTD + slice_in_dim(all, 1, 0, x_BTD.dim(1));
  }

 private:
  std::string state_;
  int64_t model_dim_;
};
AXLE_REGISTER(OwnShift)

TinyModel shift_model(const std::string& state) {
  TransformerLayer::Config layer = tiny_layer();
  layer.attention = PreNorm::Config{.body = OwnShift::Config{.state = state}};
  return random_model(Stacked::Config{.num_layers = 2, .layer = layer});
}

// Also with prompts of different lengths: the state of a row must keep the last token of that row.
TEST_F(GeneratorTest, CustomMixerDecodesByItsState) {
  TinyModel tiny = shift_model("kept");
  const TokenIds other = {8, 2};
  const auto rows = generate(tiny, {kPrompt, other}, {.max_tokens = 12}).rows;
  EXPECT_EQ(rows[0].tokens, greedy_by_forward(tiny, kPrompt, 12));
  EXPECT_EQ(rows[1].tokens, greedy_by_forward(tiny, other, 12));
  EXPECT_GT(std::set<int32_t>(rows[0].tokens.begin(), rows[0].tokens.end()).size(), 2u);
}

TEST_F(GeneratorTest, AMixerWhoseStateIsWrongIsRefused) {
  const auto refusal = [&](const std::string& state) {
    TinyModel tiny = shift_model(state);
    return error_of<Error>([&] { generate(tiny, {kPrompt}, {.max_tokens = 2}); });
  };
  EXPECT_THAT(
      refusal("undeclared"),
      HasSubstr("model.decoder.layers.layer.attention.body: expected a layer that can decode"));
  EXPECT_THAT(refusal("misnamed"),
              HasSubstr("model/decoder/layers/layer0/attention/body/lats: expected state that the "
                        "layer declares, got none of this name"));
  EXPECT_EQ(refusal("mistyped"),
            "model/decoder/layers/layer0/attention/body/last: expected the state's type bf16[1, "
            "16], got f32[1, 16]");
}

// A row is reported as soon as its own logits are not finite, but not after it has ended.
TEST_F(GeneratorTest, LogitsWithoutAFiniteMaximumAreRefused) {
  constexpr float kHuge = 3e38f, kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr size_t kVocab = 6;
  TinyModel tiny = chain_model({{1, 2}, {2, 3}, {3, 4}}, kVocab);
  const HostTensor good = tiny.parameters.at("model/decoder/lm_head/weight");
  // Logits after token 3 are the given weights times a number above 1.
  const auto refusal = [&](const std::vector<float>& behind_3, double temperature = 0) {
    HostTensor& head = tiny.parameters.at("model/decoder/lm_head/weight");
    head = good;
    for (size_t i = 0; i < behind_3.size(); ++i) head.values<float>()[i * kVocab + 3] = behind_3[i];
    const GenerateOptions options{.sampling = {.temperature = temperature}, .max_tokens = 5};
    return error_of<Error>([&] { generate(tiny, {{1}}, options); });
  };
  const std::vector<float> all_below(kVocab, -kHuge);
  EXPECT_EQ(refusal({kHuge}),
            "prompt 1, new token 3: expected finite logits, got NaN or infinity; "
            "finite parameters can still be too large");
  EXPECT_THAT(refusal(all_below), HasSubstr("new token 3: expected finite logits"));
  EXPECT_THAT(refusal({0, kNaN}), HasSubstr("new token 1: expected finite logits"));
  EXPECT_THAT(refusal({0, kNaN}, 1), HasSubstr("new token 1: expected finite logits"));
  EXPECT_EQ(refusal({-kHuge}), "no error") << "a token that may not come";
  refusal({kHuge});
  const auto rows = generate(tiny, {{1}, {5}}, {.max_tokens = 5, .end_tokens = {3}}).rows;
  EXPECT_THAT(rows[0].tokens, ElementsAre(2));
  EXPECT_THAT(rows[1].tokens, ElementsAre(0, 0, 0, 0, 0));
}

TEST_F(GeneratorTest, ComputeDtypeMatchesTheForwardPass) {
  for (const Child<Block>& layers :
       {Child<Block>(Stacked::Config{.num_layers = 2, .layer = tiny_layer()}),
        Child<Block>(Repeat::Config{.num_layers = 2, .layer = tiny_layer()})}) {
    TinyModel tiny = random_model(layers);
    const TokenIds expected = greedy_by_forward(tiny, kPrompt, 20, DType::kBF16);
    EXPECT_NE(expected, greedy_by_forward(tiny, kPrompt, 20)) << "the dtype makes no difference";
    EXPECT_EQ(tokens(tiny, kPrompt, {.max_tokens = 20}, {.compute_dtype = DType::kBF16}), expected);
  }
}

TEST_F(GeneratorTest, ParametersAreCastBeforeTheProgramsAndCachesAreKeptInTheComputeDtype) {
  TinyModel tiny = random_model(Repeat::Config{.num_layers = 2, .layer = tiny_layer()});
  const DecodeShape shape{.compute_dtype = DType::kBF16};
  for (const Program& program :
       {prefill_program(*tiny.model, shape, {}), decode_program(*tiny.model, shape, {})}) {
    int num_floats = 0;
    for (const auto* values : {&program.inputs, &program.outputs}) {
      for (const ProgramValue& v : *values) {
        if (!is_float(v.type.dtype)) continue;
        EXPECT_EQ(v.type.dtype, DType::kBF16) << program.name << " " << v.name;
        ++num_floats;
      }
    }
    EXPECT_GT(num_floats, static_cast<int>(tiny.parameters.size()));
  }
}

TEST_F(GeneratorTest, BucketsDoNotChangeTheTokens) {
  TinyModel tiny = random_model(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  const GenerateOptions greedy{.max_tokens = 9},
      drawn{.sampling = {.temperature = 1}, .max_tokens = 9, .seed = 5};
  for (const GenerateOptions& options : {greedy, drawn}) {
    const TokenIds few = tokens(tiny, kPrompt, options);  // caches of 16
    GenerateOptions longer = options;
    longer.max_tokens = 60;  // caches of 128
    const TokenIds many = tokens(tiny, kPrompt, longer);
    EXPECT_EQ(TokenIds(many.begin(), many.begin() + 9), few);
    EXPECT_EQ(tokens(tiny, kPrompt, options, {.context_len = 14}), few);  // prompt and caches: 14
  }
}

TEST_F(GeneratorTest, BatchedPromptsMatchSinglePrompts) {
  TinyModel tiny = random_model(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  const TokenIds longer = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  const Generated both = generate(tiny, {kPrompt, longer, {30}}, {.max_tokens = 8});
  ASSERT_EQ(both.rows.size(), 3u);
  EXPECT_EQ(both.rows[0].tokens, tokens(tiny, kPrompt, {.max_tokens = 8}));
  EXPECT_EQ(both.rows[1].tokens, tokens(tiny, longer, {.max_tokens = 8}));
  EXPECT_EQ(both.rows[2].tokens, tokens(tiny, {30}, {.max_tokens = 8}));
  EXPECT_EQ(both.decoded_tokens, 21);
}

TEST_F(GeneratorTest, SeedDecidesWhatIsDrawn) {
  TinyModel tiny = random_model(Stacked::Config{.num_layers = 1, .layer = tiny_layer()});
  const auto drawn = [&](int64_t seed) {
    return tokens(tiny, kPrompt, {.sampling = {.temperature = 3}, .max_tokens = 12, .seed = seed});
  };
  const TokenIds first = drawn(1);
  EXPECT_EQ(first, drawn(1));
  EXPECT_NE(first, drawn(2));
  EXPECT_GT(std::set<int32_t>(first.begin(), first.end()).size(), 3u);
}

TEST_F(GeneratorTest, StopsBeforeAnEndToken) {
  TinyModel tiny = chain_model({{4, 5}, {5, 6}, {6, 2}, {2, 4}}, 8);
  TokenIds seen;
  const Generated out = generate(tiny, {{1, 4}}, {.max_tokens = 50, .end_tokens = {2, 7}}, {},
                                 [&](size_t row, int32_t token) {
                                   EXPECT_EQ(row, 0u);
                                   seen.push_back(token);
                                   return true;
                                 });
  EXPECT_THAT(out.rows[0].tokens, ElementsAre(5, 6));
  EXPECT_EQ(out.rows[0].stop, StopReason::kEndToken);
  EXPECT_EQ(seen, out.rows[0].tokens);
}

TEST_F(GeneratorTest, TheCallerMayEndARow) {
  TinyModel tiny = chain_model({{4, 5}, {5, 6}, {6, 4}}, 8);
  const Generated out = generate(tiny, {{4}}, {.max_tokens = 50}, {},
                                 [](size_t, int32_t token) { return token != 6; });
  EXPECT_THAT(out.rows[0].tokens, ElementsAre(5, 6));
  EXPECT_EQ(out.rows[0].stop, StopReason::kEndText);
}

TEST_F(GeneratorTest, AnEndTokenMayBeTheFirst) {
  TinyModel tiny = chain_model({{4, 2}}, 8);
  const Generated out = generate(tiny, {{4}}, {.end_tokens = {2}});
  EXPECT_TRUE(out.rows[0].tokens.empty());
  EXPECT_EQ(out.rows[0].stop, StopReason::kEndToken);
  EXPECT_EQ(out.decoded_tokens, 0);
}

TEST_F(GeneratorTest, RowsEndEachByItself) {
  TinyModel tiny = chain_model({{4, 5}, {5, 2}, {2, 4}, {6, 7}, {7, 6}}, 8);
  const Generated out = generate(tiny, {{4}, {6}}, {.max_tokens = 5, .end_tokens = {2}});
  EXPECT_THAT(out.rows[0].tokens, ElementsAre(5));
  EXPECT_THAT(out.rows[1].tokens, ElementsAre(7, 6, 7, 6, 7));
  EXPECT_EQ(out.rows[1].stop, StopReason::kMaxTokens);
}

TEST_F(GeneratorTest, ContextIsFilledToItsEndAndNotBeyond) {
  TinyModel tiny = chain_model({{4, 5}, {5, 4}}, 8, 20);
  const Generated out = generate(tiny, {{4, 5, 4}}, {.max_tokens = 100}, {.context_len = 20});
  EXPECT_EQ(out.rows[0].tokens.size(), 17u);
  EXPECT_EQ(out.rows[0].stop, StopReason::kContextEnd);
  const Generated full =
      generate(tiny, {TokenIds(19, 4)}, {.max_tokens = 100}, {.context_len = 20});
  EXPECT_THAT(full.rows[0].tokens, ElementsAre(5));
}

TEST_F(GeneratorTest, ProgramsAreKept) {
  struct Counting final : Runtime {
    InterpreterRuntime inner{1};
    int compiled = 0;
    const Topology& topology() const override { return inner.topology(); }
    std::unique_ptr<Executable> compile(const Program& program,
                                        const CompileOptions& options) override {
      ++compiled;
      return inner.compile(program, options);
    }
    std::unique_ptr<Executable> load(const std::string& bytes, const Program& program) override {
      return inner.load(bytes, program);
    }
    ArrayPtr make_array(const HostTensor& value, const PartitionSpec& sharding,
                        const Mesh& mesh) override {
      return inner.make_array(value, sharding, mesh);
    }
  } runtime;
  TinyModel tiny = chain_model({{4, 5}, {5, 4}}, 8);
  Generator generator(*tiny.model, tiny.parameters, runtime, {});
  const auto compiled_by = [&](size_t prompt_len, const GenerateOptions& options) {
    const int before = runtime.compiled;
    const TokenIds prompt(prompt_len, 4);
    generator.generate({&prompt, 1}, options);
    return runtime.compiled - before;
  };
  EXPECT_EQ(compiled_by(3, {.max_tokens = 5}), 2);
  EXPECT_EQ(compiled_by(9, {.max_tokens = 7}), 0);   // the same length buckets
  EXPECT_EQ(compiled_by(9, {.max_tokens = 8}), 2);   // caches of 32
  EXPECT_EQ(compiled_by(20, {.max_tokens = 5}), 1);  // prompts of 32, the same decode program
  EXPECT_EQ(compiled_by(3, {.sampling = {.temperature = 1}, .max_tokens = 5}), 2);
  EXPECT_EQ(compiled_by(40, {.max_tokens = 1}), 1);  // nothing is decoded
}

TEST_F(GeneratorTest, LengthBucketsArePowersOfTwoUpToTheContext) {
  EXPECT_EQ(length_bucket(1, {}), 16);
  EXPECT_EQ(length_bucket(16, {}), 16);
  EXPECT_EQ(length_bucket(17, {}), 32);
  EXPECT_EQ(length_bucket(17, 20), 20);
  EXPECT_EQ(length_bucket(3, 12), 12);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(length_bucket(kMost, {}), kMost) << "positions are i32";
  EXPECT_EQ(length_bucket(kMost - 1, std::numeric_limits<int64_t>::max()), kMost);
}

TEST_F(GeneratorTest, MistakesAreNamed) {
  TinyModel tiny = chain_model({{4, 5}}, 8);
  EXPECT_EQ(error(tiny, {}, {}), "prompts: expected at least one, got none");
  EXPECT_EQ(error(tiny, {{}}, {}), "prompt: expected at least one token, got none");
  EXPECT_EQ(error(tiny, {{4}}, {.max_tokens = 0}), "max_tokens: expected at least 1, got 0");
  EXPECT_EQ(error(tiny, {{4}}, {.max_tokens = std::numeric_limits<int64_t>::max()}),
            "max_tokens: expected at most 2147483646 after this prompt, got 9223372036854775807");
  EXPECT_EQ(error(tiny, {{4}}, {.max_tokens = std::numeric_limits<int64_t>::max()},
                  {.context_len = std::numeric_limits<int64_t>::max()}),
            "max_tokens: expected at most 2147483646 after this prompt, got 9223372036854775807");
  EXPECT_THAT(error(tiny, {{4}}, {.sampling = {.temperature = 1, .top_k = -2}}),
              HasSubstr("top_k: expected at least 1, got -2"));
  EXPECT_EQ(error(tiny, {TokenIds(20, 4)}, {}, {.context_len = 20}),
            "prompt: expected fewer tokens than the model's context of 20, got 20; shorten it");
  tiny.parameters.at("model/decoder/output_norm/scale") = HostTensor::ones({9});
  EXPECT_THAT(
      error(tiny, {{4}}, {}),
      HasSubstr("parameters: model/decoder/output_norm/scale: expected f32[8], got f32[9]; were"));
  tiny.parameters.erase("model/decoder/output_norm/scale");
  EXPECT_THAT(error(tiny, {{4}}, {}), HasSubstr("expected f32[8], got none"));
}

}  // namespace
}  // namespace axle
