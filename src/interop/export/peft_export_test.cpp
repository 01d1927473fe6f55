#include "interop/export/peft_export.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/set.h"
#include "interop/export/gguf_export.h"
#include "interop/export/hugging_face_export.h"
#include "interop/hugging_face.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "io/safetensors.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const Report kQuiet = [](const std::string&) {};

class PeftExporting : public ::testing::Test {
 protected:
  // Saves a run of the model, whose adapters have numbers, and the same without adapters.
  void save(const Child<Model>& model, const Tree<HostTensor>& weights) {
    TinyModel tiny(model);
    tiny.parameters = testing::initial_parameters(*tiny.model, 5);
    for (const auto& [path, value] : weights) tiny.parameters.at(path) = value;
    int next = 1;
    for (auto& [path, value] : tiny.parameters) {
      if (path.find("/lora_") == path.npos) continue;
      HostTensor numbers({DType::kF32, value.shape()});
      for (float& v : numbers.values<float>())
        v = 0.01f * static_cast<float>((next = next * 7 % 101) - 50);
      value = numbers.astype(value.dtype());
    }
    write(dir_ / "run", tiny);
    TinyModel base(model);
    remove_adapters(base.config);
    for (const auto& [path, value] : tiny.parameters)
      if (path.find("/lora_") == path.npos) base.parameters.emplace(path, value);
    write(dir_ / "base", base);
  }
  static void write(const fs::path& dir, const TinyModel& tiny) {
    save_model(dir, {.model = tiny.config,
                     .tokenizer = {},
                     .parameters = subtree(tiny.parameters, "model"),
                     .context_len = 20});
  }
  Tree<HostTensor> exported(const char* run, const std::string& family) {
    const fs::path out = dir_ / (std::string(run) + "-out");
    export_hugging_face({.options = {.run = dir_ / run, .family = family}, .dir = out}, kQuiet);
    return load_safetensors(out / "model.safetensors");
  }
  // Expects the base with the adapters to be the merged model; returns the adapters' config.
  Json expect_adapters(const std::string& family) {
    export_peft({.options = {.run = dir_ / "run", .family = family},
                 .dir = dir_ / "peft",
                 .base = "models/base"},
                kQuiet);
    const Json config = Json::parse(read_file(dir_ / "peft/adapter_config.json"));
    const Tree<HostTensor> adapters = load_safetensors(dir_ / "peft/adapter_model.safetensors");
    const Tree<HostTensor> base = exported("base", family), merged = exported("run", family);
    size_t num_adapted = 0;
    for (const auto& [name, weight] : base) {
      const std::string module = name.substr(0, name.rfind('.'));
      const auto a = adapters.find("base_model.model." + module + ".lora_A.weight");
      const HostTensor& whole = merged.at(name);
      if (a == adapters.end() || !name.ends_with(".weight")) {
        EXPECT_EQ(whole, weight) << name;
        continue;
      }
      ++num_adapted;
      const HostTensor& b = adapters.at("base_model.model." + module + ".lora_B.weight");
      const int64_t rank = a->second.shape()[0], inputs = a->second.shape()[1];
      const double alpha =
          config["alpha_pattern"].value(module, config["lora_alpha"].get<double>());
      EXPECT_EQ(rank, config["rank_pattern"].value(module, config["r"].get<int64_t>()));
      const bool is_turned = config["fan_in_fan_out"];
      for (int64_t o = 0; o < b.shape()[0]; ++o) {
        for (int64_t i = 0; i < inputs; ++i) {
          double sum = 0;
          for (int64_t r = 0; r < rank; ++r)
            sum += b.at(o * rank + r) * a->second.at(r * inputs + i);
          const int64_t at = is_turned ? i * b.shape()[0] + o : o * inputs + i;
          EXPECT_NEAR(whole.at(at) - weight.at(at), sum * alpha / static_cast<double>(rank), 1e-4)
              << name;
        }
      }
    }
    EXPECT_EQ(2 * num_adapted, adapters.size());
    EXPECT_GT(num_adapted, 0u);
    return config;
  }

  TempDir dir_;
};

Child<Model> adapted(Child<Model> model, const Lora::Config& lora = {.rank = 3, .alpha = 5}) {
  apply_modifier(lora, "lora", model);
  return model;
}

TEST_F(PeftExporting, AdaptersOfAnImportedModelKeepItsModules) {
  for (const std::string name : {"llama", "gemma3", "qwen3"}) {
    SCOPED_TRACE(name);
    const ImportedModel read = read_hugging_face(reference_file("hugging_face/" + name));
    Tree<HostTensor> weights;
    put_subtree(weights, "model", read.parameters);
    remove_tree(dir_ / "peft");
    for (const char* old : {"run", "base", "run-out", "base-out"}) remove_tree(dir_ / old);
    save(adapted(read.model), weights);
    const Json config = expect_adapters("");
    EXPECT_EQ(config["r"], 3);
    EXPECT_EQ(config["lora_alpha"], 5);
    EXPECT_EQ(config["base_model_name_or_path"], "models/base");
    EXPECT_THAT(config["target_modules"].dump(), HasSubstr("\"q_proj\""));
    EXPECT_EQ(config["rank_pattern"], Json::object());
  }
}

// In the dtype of the weights most of a small adapter would be lost, for any dtype of the file.
TEST_F(PeftExporting, MergedWeightsAreRoundedOnceToTheDtypeOfTheFile) {
  ImportedModel read = read_hugging_face(reference_file("hugging_face/llama"));
  read.model.options.dtype = DType::kBF16;
  Tree<HostTensor> weights;
  for (const auto& [path, value] : read.parameters)
    weights.emplace("model/" + path, value.astype(DType::kBF16));
  save(adapted(read.model), weights);
  const auto exported_as = [&](DType dtype) {
    const fs::path out = dir_ / std::string(name_of(dtype));
    export_hugging_face({.options = {.run = dir_ / "run", .dtype = dtype}, .dir = out}, kQuiet);
    return load_safetensors(out / "model.safetensors");
  };
  const Tree<HostTensor> exact = exported_as(DType::kF32), as_stored = exported("run", "");
  const std::string name = "model.layers.1.self_attn.q_proj.weight";
  EXPECT_NE(exact.at(name), exact.at(name).astype(DType::kBF16).astype(DType::kF32));
  EXPECT_EQ(as_stored.at(name), exact.at(name).astype(DType::kBF16));
  EXPECT_EQ(exported_as(DType::kF16).at(name), exact.at(name).astype(DType::kF16));
  EXPECT_EQ(exported_as(DType::kBF16).at(name), as_stored.at(name));
  for (const std::string type : {"F32", "F16"}) {
    const fs::path file = dir_ / (type + ".gguf");
    export_gguf({.options = {.run = dir_ / "run"}, .file = file, .type = type}, kQuiet);
    const HostTensor first = GgufFile(file).get("blk.1.attn_output.weight");
    EXPECT_EQ(first, exact.at("model.layers.1.self_attn.o_proj.weight").astype(first.dtype()));
  }
}

// Their modules hold several projections each.
TEST_F(PeftExporting, AdaptersOfFusedModulesBecomeOne) {
  for (const std::string name : {"phi3", "gpt2"}) {
    SCOPED_TRACE(name);
    const ImportedModel read = read_hugging_face(reference_file("hugging_face/" + name));
    Tree<HostTensor> weights;
    put_subtree(weights, "model", read.parameters);
    remove_tree(dir_ / "peft");
    for (const char* old : {"run", "base", "run-out", "base-out"}) remove_tree(dir_ / old);
    save(adapted(read.model), weights);
    const Json config = expect_adapters(name);
    EXPECT_EQ(config["fan_in_fan_out"], name == "gpt2");
    EXPECT_FALSE(config["rank_pattern"].empty());
  }
}

// Adapters of our own forms: one for all heads, rotated by neighbours; some projections alone.
TEST_F(PeftExporting, AdaptersOfOtherLayoutsAreSplitAndReordered) {
  const Child<Model> model = CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 16,
                                 .vocab_size = 31,
                                 .layers = Stacked::Config{.num_layers = 2, .layer = tiny_layer()},
                                 .lm_head = LmHead::Config{}}};
  save(adapted(model), {});
  expect_adapters("");
  for (const char* old : {"run", "base", "run-out", "base-out", "peft"}) remove_tree(dir_ / old);
  save(adapted(model, {.at = "**.qkv.**", .rank = 2}), {});
  const Json config = expect_adapters("");
  EXPECT_EQ(config["target_modules"], Json({"k_proj", "q_proj", "v_proj"}));
}

TEST_F(PeftExporting, AdaptersThatPeftDoesNotHaveAreRefused) {
  TransformerLayer::Config layer = tiny_layer();
  const auto model_of = [&](const Child<Block>& layers) {
    return Child<Model>(CausalLM::Config{
        .decoder = Decoder::Config{
            .model_dim = 16, .vocab_size = 31, .layers = layers, .lm_head = LmHead::Config{}}});
  };
  const auto error = [&](const char* run) {
    return error_of<ConfigError>(
        [&] { export_peft({.options = {.run = dir_ / run}, .dir = dir_ / "peft"}, kQuiet); });
  };
  save(adapted(model_of(Repeat::Config{.num_layers = 2, .layer = layer})), {});
  EXPECT_THAT(error("base"), HasSubstr("expected a model with adapters (LoraProduct)"));
  for (const char* old : {"run", "base"}) remove_tree(dir_ / old);
  Child<Model> first = model_of(Stacked::Config{.num_layers = 2, .layers = {layer, layer}});
  save(adapted(first, {.at = "**.layers[0].**", .rank = 2}), {});
  EXPECT_THAT(error("run"), HasSubstr("expected the adapters of layer 0 in layer 1"));
  for (const char* old : {"run", "base"}) remove_tree(dir_ / old);
  layer.feed_forward.get_if<PreNorm>()->body = MoE::Config{
      .num_experts = 4, .hidden_dim = FixedDim{.dim = 24}, .gate = Linear::Config{.bias = false}};
  save(adapted(model_of(Repeat::Config{.num_layers = 2, .layer = layer})), {});
  EXPECT_THAT(error("run"), HasSubstr("got some of experts; merge them (--format hf)"));
  EXPECT_FALSE(path_exists(dir_ / "peft"));
}

}  // namespace
}  // namespace axle
