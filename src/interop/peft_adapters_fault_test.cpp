// Folders of adapters that are malformed, or do not match their base.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "interop/foreign_model.h"
#include "interop/peft_adapters.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class PeftAdapters : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path reference = reference_file("peft/llama");
    config_ = Json::parse(read_file(reference / kPeftConfig));
    config_["base_model_name_or_path"] = reference_file("hugging_face/llama");
    tensors_ = load_safetensors(reference / kPeftTensors);
    fs::create_directory(folder_);
  }
  void write() const {
    replace_file(folder_ / kPeftConfig, config_.dump());
    save_safetensors(folder_ / kPeftTensors, tensors_);
  }
  template <class E>
  std::string error_with(const char* key, const Json& value) const {
    Json config = config_;
    config[key] = value;
    replace_file(folder_ / kPeftConfig, config.dump());
    return error_of<E>([&] { read_foreign_model(folder_); });
  }
  std::string data_error() const {
    write();
    return error_of<DataError>([&] { read_foreign_model(folder_); });
  }

  static constexpr const char* kModule = "base_model.model.model.layers.1.self_attn.q_proj";
  TempDir dir_;
  fs::path folder_ = dir_ / "adapters";
  Json config_;
  Tree<HostTensor> tensors_;
};

TEST_F(PeftAdapters, UnsupportedAdaptersAreRefused) {
  write();
  EXPECT_TRUE(is_foreign_model(folder_));
  EXPECT_FALSE(read_foreign_model(folder_).parameters.empty());
  EXPECT_THAT(error_with<DataError>("bias", "all"), HasSubstr("bias: expected \"none\""));
  EXPECT_THAT(error_with<DataError>("peft_type", "IA3"), HasSubstr("expected \"LORA\""));
  EXPECT_THAT(error_with<DataError>("init_lora_weights", "pissa"), HasSubstr("init_lora_weights"));
  EXPECT_THAT(error_with<DataError>("lora_alpha", 0), HasSubstr("a number above 0"));
  EXPECT_THAT(error_with<ConfigError>("use_dora", true),
              HasSubstr("expected fields that Axle knows, got use_dora"));
}

TEST_F(PeftAdapters, SavedModulesMustMatchTheBase) {
  const Tree<HostTensor> good = tensors_;
  const std::string head = "base_model.model.lm_head.weight";
  write();
  EXPECT_THAT(error_with<DataError>("modules_to_save", {"norm", "lm_head"}),
              HasSubstr("modules_to_save: expected modules whose tensors adapter_model.safetensors "
                        "holds, and norm is not there, got [\"norm\",\"lm_head\"]"));
  const auto error_of_tensor = [&](const std::string& name, const HostTensor& value) {
    tensors_ = good;
    tensors_.emplace(name, value);
    return data_error();
  };
  const std::string file = (folder_ / kPeftTensors).string();
  const Shape shape = load_safetensors(reference_file("hugging_face/llama/model.safetensors"))
                          .at("lm_head.weight")
                          .shape();
  EXPECT_THAT(
      error_of_tensor(head, HostTensor::ones({3, 16})),
      HasSubstr(file + ": " + head + ": expected floats " + to_text(shape) + ", got f32[3, 16]"));
  EXPECT_THAT(error_of_tensor(head, HostTensor::full(shape, NAN)),
              HasSubstr(file + ": " + head + ": expected finite numbers, got NaN or infinity"));
  EXPECT_THAT(error_of_tensor("base_model.model.score.weight", HostTensor::ones({2, 16})),
              HasSubstr(file + ": base_model.model.score.weight: expected no tensor of this name"));
  EXPECT_THAT(error_of_tensor("lm_head.weight", HostTensor::ones(shape)),
              HasSubstr("lm_head.weight: expected matrices base_model.model.<module>.lora_A"));
}

// Numbers that bf16 would round stay as they are; --dtype rounds them.
TEST_F(PeftAdapters, SavedModulesKeepTheirNumbersInABf16Model) {
  Tree<HostTensor> base = load_safetensors(reference_file("hugging_face/llama/model.safetensors"));
  fs::create_directory(dir_ / "bf16");
  for (auto& [name, value] : base) value = value.astype(DType::kBF16);
  save_safetensors(fs::path(dir_ / "bf16") / "model.safetensors", base);
  fs::copy_file(reference_file("hugging_face/llama/config.json"), dir_ / "bf16/config.json");
  config_["base_model_name_or_path"] = dir_ / "bf16";
  const HostTensor head = HostTensor::full(base.at("lm_head.weight").shape(), 0.1234567);
  tensors_.emplace("base_model.model.lm_head.weight", head);
  tensors_.emplace("base_model.model.model.norm.weight", HostTensor::ones({16}, DType::kBF16));
  write();
  const ModelToSave read = read_foreign_model(folder_);
  EXPECT_EQ(read.parameters.at("decoder/lm_head/weight"), head);
  EXPECT_EQ(read.parameters.at("decoder/output_norm/scale"), HostTensor::ones({16}, DType::kBF16));
  EXPECT_EQ(read.parameters.at("decoder/emb/weight").dtype(), DType::kBF16);
  EXPECT_EQ(read.compute_dtype, std::optional<FloatDType>(DType::kBF16));
  const ModelToSave rounded =
      read_foreign_model(folder_, {.read = {.dtypes = {.all = DType::kBF16}}});
  EXPECT_EQ(rounded.parameters.at("decoder/lm_head/weight"), head.astype(DType::kBF16));
}

// The names of the published GPT-2 lack the prefix, and the names of its adapters have it.
TEST_F(PeftAdapters, ABaseMayLackThePrefixOfItsModules) {
  const Tree<HostTensor> whole =
      load_safetensors(reference_file("hugging_face/gpt2/model.safetensors"));
  Tree<HostTensor> base;
  for (const auto& [name, value] : whole)
    base.emplace(name.substr(std::string("transformer.").size()), value);
  fs::create_directory(dir_ / "gpt2");
  save_safetensors(fs::path(dir_ / "gpt2") / "model.safetensors", base);
  fs::copy_file(reference_file("hugging_face/gpt2/config.json"), dir_ / "gpt2/config.json");
  for (const char* const name : {"peft/gpt2", "peft/gpt2_saved"}) {
    const ModelToSave expected = read_foreign_model(reference_file(name));
    remove_tree(folder_);
    fs::copy(reference_file(name), folder_);
    fs::create_symlink(dir_ / "gpt2", folder_ / "base");
    EXPECT_EQ(read_foreign_model(folder_).parameters, expected.parameters);
  }
}

TEST_F(PeftAdapters, PicklesAreRefused) {
  write();
  remove_tree(folder_ / kPeftTensors);
  replace_file(folder_ / "adapter_model.bin", "\x80\x02}q");
  EXPECT_THAT(error_of<DataError>([&] { read_foreign_model(folder_); }),
              HasSubstr("expected adapter_model.safetensors, got adapter_model.bin, a Python "
                        "pickle; reading one may run any code; save its tensors"));
}

TEST_F(PeftAdapters, DamagedFilesAreDataErrors) {
  write();
  for (const char* const name : {"adapter_model.safetensors", "adapter_config.json"}) {
    const std::string whole = read_file(folder_ / name);
    for (const std::string& damaged :
         {std::string(), whole.substr(0, 5), whole.substr(0, whole.size() / 2),
          std::string(whole.size(), '\xff')}) {
      replace_file(folder_ / name, damaged);
      const Thrown thrown = thrown_by([&] { read_foreign_model(folder_); });
      EXPECT_EQ(thrown.code, ExitCode::kData) << thrown.message;
      EXPECT_THAT(thrown.message, HasSubstr(name));
    }
    replace_file(folder_ / name, whole);
  }
}

// Every field that peft writes, and values of kinds that it can't have.
TEST_F(PeftAdapters, FieldsOfWrongTypesAreDataErrors) {
  write();
  const Json yes = true, number = 3, text = "x", list = Json::array({1}), texts = {"x", "y"},
             object = {{"a", text}}, none = Json::object(), empty = Json::array();
  const std::map<std::string, std::vector<Json>> wrong = {
      {"alora_invocation_tokens", {text, number, object, texts, false, ""}},
      {"alpha_pattern", {list, text, object, number, yes, empty, "", {{"a", nullptr}}}},
      {"arrow_config", {list, text, number, yes}},
      {"auto_mapping", {list, text, number, yes}},
      {"base_model_name_or_path", {number, list, object, yes, empty, none}},
      {"bias", {number, list, object, yes}},
      {"corda_config", {list, text, number, yes}},
      {"ensure_weight_tying", {text, number, list, object, 0, ""}},
      {"eva_config", {list, text, number, yes}},
      {"exclude_modules", {number, list, object, yes}},
      {"fan_in_fan_out", {text, number, list, object}},
      {"inference_mode", {text, number, list, object}},
      {"init_lora_weights", {number, list, object, texts}},
      {"kasa_config", {list, text, number, yes}},
      {"layer_replication", {text, number, list, object, yes}},
      {"layers_pattern", {number, list, object, yes}},
      {"layers_to_transform", {text, texts, object, yes, -1, 1.5}},
      {"loftq_config", {list, text, number, yes}},
      {"lora_alpha", {text, list, object, yes}},
      {"lora_bias", {text, number, list, object}},
      {"lora_dropout", {text, list, object, yes, -0.5, 1}},
      {"lora_ga_config", {list, text, number, yes}},
      {"megatron_config", {list, text, number, yes}},
      {"megatron_core", {number, list, object, yes}},
      {"modules_to_save", {text, number, list, object, yes, "", none}},
      {"monteclora_config", {list, text, number, yes}},
      {"peft_type", {number, list, object, yes}},
      {"peft_version", {number, list, object, yes}},
      {"qalora_group_size", {text, list, object, yes, 0}},
      {"r", {text, list, object, yes, 0, -3, 1.5}},
      {"rank_pattern", {list, text, object, number, yes, empty, {{"a", 0}}, {{"a", 1.5}}}},
      {"revision", {number, list, object, yes}},
      {"runtime_config", {list, text, number, yes}},
      {"target_modules", {number, list, object, yes}},
      {"target_parameters", {number, list, object, yes, text}},
      {"task_type", {number, list, object, yes}},
      {"trainable_token_indices", {text, number, texts, object, yes}},
      {"use_bdlora", {list, text, number, yes}},
      {"use_dora", {text, number, list, object, empty, ""}},
      {"use_qalora", {text, number, list, object}},
      {"use_rslora", {text, number, list, object}},
      {"velora_config", {list, text, number, yes}},
  };
  const auto expect_refused = [&](const Json& config, const std::string& name) {
    replace_file(folder_ / kPeftConfig, config.dump());
    const Thrown thrown = thrown_by([&] { read_foreign_model(folder_); });
    EXPECT_EQ(thrown.code, ExitCode::kData) << thrown.message << "; " << config.dump();
    EXPECT_THAT(thrown.message, HasSubstr(name + "expected "));
    EXPECT_EQ(thrown.message.find('\n'), std::string::npos) << thrown.message;
  };
  for (const auto& [name, written] : config_.items()) EXPECT_TRUE(wrong.contains(name)) << name;
  for (const auto& [name, values] : wrong) {
    for (const Json& value : values) {
      Json config = config_;
      config[name] = value;
      expect_refused(config, name + ": ");
    }
  }
  for (const Json& whole : {empty, list, text, number, yes, Json()})
    expect_refused(whole, std::string(kPeftConfig) + ": ");
  for (const char* const pattern : {"(", "[", "*", "\\"}) {
    Json config = config_;
    config["alpha_pattern"] = {{pattern, 4}};
    expect_refused(config, "alpha_pattern: ");
  }
  // Another file may be the base: the fields count all the same.
  fs::create_symlink(fs::path(reference_file("hugging_face/llama")), folder_ / "base");
  Json config = config_;
  config["base_model_name_or_path"] = 3;
  expect_refused(config, "base_model_name_or_path: ");
  // A field that is left out may be anything.
  config = config_;
  config["alpha_pattern"] = object;
  replace_file(folder_ / kPeftConfig, config.dump());
  EXPECT_FALSE(
      read_foreign_model(folder_, {.read = {.ignored = {"alpha_pattern"}}}).parameters.empty());
}

TEST_F(PeftAdapters, ABaseThatIsNotThereIsNamed) {
  write();
  EXPECT_THAT(error_with<ConfigError>("base_model_name_or_path", "meta-llama/Llama-3.2-1B"),
              HasSubstr("expected the path of the model that the adapters belong to, got "
                        "'meta-llama/Llama-3.2-1B'; link it to " +
                        (folder_ / "base").string()));
  EXPECT_THAT(error_with<ConfigError>("base_model_name_or_path", nullptr),
              HasSubstr("that the adapters belong to, got none; link it to "));
  fs::create_symlink(fs::path(reference_file("hugging_face/llama")), folder_ / "base");
  read_foreign_model(folder_);
}

TEST_F(PeftAdapters, TensorsMustMatchTheBase) {
  const Tree<HostTensor> good = tensors_;
  const std::string down = std::string(kModule) + ".lora_A.weight";
  tensors_.emplace("base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight", good.at(down));
  EXPECT_THAT(data_error(), HasSubstr("model.layers.7.self_attn.q_proj: expected lora_A [rank, "
                                      "inputs] and lora_B [outputs, rank], got [3, 16] and none"));
  tensors_.emplace("base_model.model.model.layers.7.self_attn.q_proj.lora_B.weight",
                   good.at(std::string(kModule) + ".lora_B.weight"));
  EXPECT_THAT(data_error(), HasSubstr("expected adapters of projections of the base, got some of "
                                      "model.layers.7.self_attn.q_proj"));
  for (int layer = 8; layer < 100; ++layer) {
    const std::string module =
        fmt::format("base_model.model.model.layers.{}.self_attn.q_proj.lora_", layer);
    tensors_.emplace(module + "A.weight", good.at(down));
    tensors_.emplace(module + "B.weight", good.at(std::string(kModule) + ".lora_B.weight"));
  }
  EXPECT_THAT(data_error(),
              HasSubstr("got some of model.layers.10.self_attn.q_proj, "
                        "model.layers.11.self_attn.q_proj, model.layers.12.self_attn.q_proj and 90 "
                        "more; do they belong to another model?"));
  tensors_ = good;
  tensors_.emplace("base_model.model.model.embed_tokens.lora_embedding_A", good.at(down));
  EXPECT_THAT(data_error(), HasSubstr("lora_embedding_A: expected matrices"));
  tensors_ = good;
  tensors_.insert_or_assign(down, HostTensor::ones({3, 15}));
  EXPECT_THAT(data_error(), HasSubstr("expected adapters of 16 inputs and 16 outputs, got 15"));
  tensors_ = good;
  std::erase_if(tensors_, [&](const auto& tensor) { return tensor.first.starts_with(kModule); });
  EXPECT_THAT(data_error(), HasSubstr("expected adapters of all layers that are stacked, got none "
                                      "of model.layers.1.self_attn.q_proj"));
}

}  // namespace
}  // namespace axle
