// Fields and tensors of single families, beside the fields and tensors of the tiny models.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "config/print.h"
#include "config/serialize.h"
#include "interop/families/family.h"
#include "interop/families/read_model.h"
#include "interop/families/reference_fields_test.h"
#include "interop/families/written_fields.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/import_model.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "layers/models/causal_lm.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Child<Model> model_of(const Json& fields) {
  const ForeignConfig config(fields, "config.json");
  Child<Model> out = family_of(config).model(config);
  config.check_all_read({});
  return out;
}
std::string error_with(const std::string& name, const std::string& key, const Json& value) {
  Json fields = fields_of(name);
  fields[key] = value;
  return error_of<Error>([&] { model_of(fields); });
}

// Whatever the fields hold.
TEST(ForeignConfigs, MessagesHaveABoundedLength) {
  const Json types(100'000, "\u00e9t\u00e9");
  std::string text = error_with("qwen2", "layer_types", types);
  EXPECT_THAT(text, HasSubstr("got [\"\u00e9t\u00e9\",\"\u00e9t\u00e9\""));
  EXPECT_THAT(text, EndsWith("..."));
  EXPECT_LT(text.size(), 400);
  Json fields = fields_of("qwen2");
  for (int i = 0; i < 2000; ++i) fields[fmt::format("magic{}", i)] = i;
  text = error_of<ConfigError>([&] { model_of(fields); });
  EXPECT_THAT(text, HasSubstr("got magic0, magic1, magic2"));
  EXPECT_THAT(text, HasSubstr(" and 1980 others; if they do not change what the model computes, "
                              "give --ignore magic0 --ignore magic1 "));
  EXPECT_THAT(text, EndsWith(" --ignore magic19 and 1980 others"));
}

TEST(Gemma2, CapsHaveDefaultsAndNullDisablesThem) {
  const auto cap_of = [](const Json& fields) {
    const Child<Model> model = model_of(fields);
    return model.get_if<CausalLM>()->decoder.get_if<Decoder>()->logit_cap;
  };
  Json fields = fields_of("gemma2");
  EXPECT_EQ(cap_of(fields), 4);
  fields["final_logit_softcapping"] = nullptr;
  EXPECT_FALSE(cap_of(fields));
  fields.erase("final_logit_softcapping");
  EXPECT_EQ(cap_of(fields), 30);
}

// As transformers reads a config that has both names.
TEST(LlamaFamily, TheOldNameOfRopeWinsOverTheNewOne) {
  const auto rope_of = [](const Json& changes) {
    Json fields = fields_of("llama_tied");
    fields.erase("rope_theta");
    fields["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500000.0}};
    fields.update(changes);
    return to_json(model_of(fields)).dump();
  };
  const Json linear = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_THAT(rope_of(Json::object()), HasSubstr("500000"));
  const std::string both = rope_of({{"rope_scaling", linear}});
  EXPECT_THAT(both, HasSubstr("LinearFrequencies"));
  EXPECT_EQ(both.find("500000"), both.npos);
  EXPECT_EQ(rope_of({{"rope_scaling", nullptr}}), rope_of(Json::object()));
}

TEST(Phi3Family, FieldsOfPhi4CountOnlyIfTheyChangeTheModel) {
  EXPECT_THAT(error_with("phi3", "full_attn_mod", 2),
              HasSubstr("full_attn_mod: expected 1, got 2"));
  EXPECT_THAT(error_with("phi3", "interpolate_factor", 2), HasSubstr("interpolate_factor"));
  EXPECT_EQ(error_with("phi3", "interpolate_factor", 1), "no error");
}

std::vector<int64_t> windows_of(const Child<Model>& model) {
  std::vector<int64_t> out;
  for (const Child<Block>& layer : plain_model(model).layers)
    out.push_back(parts_of(layer).window.value_or(0));
  return out;
}

// Configs of older programs have no list of types.
TEST(QwenFamilies, WindowsFollowTheLayerTypesOfTheConfig) {
  Json fields = fields_of("qwen2_window");
  EXPECT_THAT(windows_of(model_of(fields)), ElementsAre(0, 4, 4));
  fields.erase("layer_types");
  EXPECT_THAT(windows_of(model_of(fields)), ElementsAre(0, 4, 4));
  fields["max_window_layers"] = 0;
  EXPECT_THAT(windows_of(model_of(fields)), ElementsAre(4, 4, 4));
  fields["max_window_layers"] = 70;
  EXPECT_THAT(windows_of(model_of(fields)), ElementsAre(0, 0, 0));
  fields["use_sliding_window"] = false;
  fields["max_window_layers"] = 0;
  EXPECT_THAT(windows_of(model_of(fields)), ElementsAre(0, 0, 0));
  EXPECT_THAT(windows_of(model_of(fields_of("qwen3_window"))), ElementsAre(4, 0, 4, 0, 4));
}

TEST(QwenFamilies, InconsistentWindowsAreRefused) {
  EXPECT_THAT(error_with("qwen2_window", "use_sliding_window", false),
              HasSubstr("layer_types: expected 3 of full_attention, without a window, got"));
  EXPECT_THAT(error_with("qwen2_window", "layer_types", {"full_attention"}),
              HasSubstr("layer_types: expected 3 of full_attention and sliding_attention, got"));
  EXPECT_THAT(error_with("qwen2_window", "max_window_layers", -1),
              HasSubstr("max_window_layers: expected an integer from 0"));
  EXPECT_THAT(error_with("qwen3_moe", "layer_types", {"sliding_attention"}),
              HasSubstr("layer_types: expected full_attention for all layers, without a window"));
}

TEST(Qwen3MoeFamily, LayersWithoutExpertsFollowTheConfig) {
  const auto has_experts = [](const Json& fields) {
    std::vector<bool> out;
    for (const Child<Block>& layer : plain_model(model_of(fields)).layers)
      out.push_back(parts_of(layer).has_experts);
    return out;
  };
  Json fields = fields_of("qwen3_moe_dense");
  EXPECT_THAT(has_experts(fields), ElementsAre(false, false, false, true, false, true));
  fields["decoder_sparse_step"] = 1;
  EXPECT_THAT(has_experts(fields), ElementsAre(true, false, true, true, true, true));
  EXPECT_THAT(error_with("qwen3_moe", "decoder_sparse_step", 0), HasSubstr("an integer from 1"));
  EXPECT_THAT(error_with("qwen3_moe", "mlp_only_layers", {-1}),
              HasSubstr("mlp_only_layers: expected a list of integers from 0"));
}

TEST(Mamba2Family, UnsupportedFieldValuesAreRefused) {
  EXPECT_THAT(error_with("mamba2", "num_heads", 5),
              HasSubstr("num_heads: expected 4 heads of 8 elements, expand * hidden_size in all"));
  EXPECT_THAT(error_with("mamba2", "time_step_limit", {0.0, 1.0}), HasSubstr("time_step_limit"));
  EXPECT_THAT(error_with("mamba2", "hidden_act", "gelu"), HasSubstr("expected \"silu\""));
  EXPECT_THAT(error_with("mamba2", "intermediate_size", 63),
              HasSubstr("intermediate_size: expected"));
}

// Version 4 of transformers writes more fields, of which these say what the layer is.
TEST(Mamba2Family, FieldsOfOlderProgramsAreKnown) {
  Json fields = fields_of("mamba2");
  const Child<Model> model = model_of(fields);
  fields["rms_norm"] = true;
  fields["norm_before_gate"] = true;  // was never read
  fields["intermediate_size"] = fields.value("expand", 2) * fields.at("hidden_size").get<int64_t>();
  EXPECT_EQ(diff(model, model_of(fields)), "");
}

TEST(DeepSeekV3Family, UnsupportedFieldValuesAreRefused) {
  EXPECT_THAT(error_with("deepseek_v3", "norm_topk_prob", false), HasSubstr("expected true"));
  EXPECT_THAT(error_with("deepseek_v3", "scoring_func", "softmax"), HasSubstr("\"sigmoid\""));
  EXPECT_THAT(error_with("deepseek_v3", "num_key_value_heads", 2),
              HasSubstr("expected 4, the heads"));
  EXPECT_THAT(error_with("deepseek_v3", "first_k_dense_replace", 0.5),
              HasSubstr("expected an integer from 0 to 2147483647"));
  EXPECT_THAT(error_with("deepseek_v3", "quantization_config", {{"quant_method", "fp8"}}),
              HasSubstr("expected fields that Axle knows, got quantization_config"));
}

// The published model has a module behind its layers.
TEST(DeepSeekV3Family, ModuleForAFurtherTokenIsLeftOut) {
  const TempDir dir;
  const fs::path reference = reference_file("hugging_face/deepseek_v3"), folder = dir / "model";
  fs::create_directory(folder);
  fs::copy_file(reference / "config.json", folder / "config.json");
  Tree<HostTensor> tensors = load_safetensors(reference / "model.safetensors");
  tensors.emplace("model.layers.3.eh_proj.weight", HostTensor::ones({16, 32}));
  tensors.emplace("model.layers.3.enorm.weight", HostTensor::ones({16}));
  save_safetensors(folder / "model.safetensors", tensors);
  const ImportReport report = import_model({.source = folder, .dir = dir / "imported"});
  EXPECT_THAT(to_text(report), HasSubstr("; 2 tensors for further tokens left out\n"));
  tensors.emplace("model.layers.2.eh_proj.weight", HostTensor::ones({16, 32}));
  save_safetensors(folder / "model.safetensors", tensors);
  EXPECT_THAT(error_of<DataError>([&] { read_foreign_model(folder); }),
              HasSubstr("model.layers.2.eh_proj.weight: expected no tensor of this name"));
}

// A model of a billion layers takes more memory than there is, before a tensor is missed.
TEST(Families, CountsAreBoundedByTheTensors) {
  const std::set<std::string> counts = {"num_hidden_layers", "n_layer", "num_local_experts",
                                        "num_experts", "n_routed_experts"};
  std::set<std::string> bounded;
  for (const fs::path& folder : list_directory(reference_file("hugging_face"))) {
    const std::string name = folder.filename();
    const SafetensorsFolder tensors(folder);
    Json fields = Json::parse(read_file(folder / "config.json"));
    if (name == "qwen3_moe") {  // as published models have it
      fields["num_experts"] = fields.at("num_local_experts");
      fields.erase("num_local_experts");
    }
    for (const auto& [key, value] : fields.items()) {
      if (!counts.contains(key)) continue;
      SCOPED_TRACE(name + ": " + key);
      for (const int64_t count : {std::ssize(tensors.names()) + 1, (int64_t{1} << 31) - 1}) {
        Json changed = fields;
        changed[key] = count;
        const ForeignConfig config(changed, "config.json");
        const Thrown thrown = thrown_by([&] { read_model(config, tensors, DType::kF32, {}); });
        EXPECT_EQ(thrown.code, ExitCode::kData);
        EXPECT_EQ(thrown.message,
                  fmt::format("config.json: {}: expected at most {}, the tensors that there are, "
                              "got {}",
                              key, tensors.names().size(), count));
      }
      bounded.insert(key);
    }
  }
  EXPECT_EQ(bounded, counts);
}

}  // namespace
}  // namespace axle
