// GGUF files of our own against those that the package gguf writes of the same models
// (tools/oracle/gguf_models.py).
#include <gmock/gmock.h>

#include <algorithm>

#include "interop/families/reference_fields_test.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/gguf/gguf_tensors.h"
#include "interop/hugging_face.h"
#include "io/file.h"
#include "io/gguf/block_type.h"
#include "io/gguf/gguf_file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class WriteGguf : public ::testing::Test {
 protected:
  void write(const std::string& name, const Json& fields, const std::string& type) const {
    const SafetensorsFolder tensors(reference_file("hugging_face/" + name));
    write_gguf(path_, {.fields = fields, .type = type}, tensors);
  }
  TempDir dir_;
  const std::string path_ = dir_ / "x.gguf";
};

class WriteGgufModels : public WriteGguf, public ::testing::WithParamInterface<std::string> {};

TEST_P(WriteGgufModels, KeysAndTensorsMatchTheConverter) {
  write(GetParam(), fields_of(GetParam()), "F32");
  const GgufFile own(path_), reference(reference_file("gguf/models/" + GetParam() + ".gguf"));
  EXPECT_EQ(own.names(), reference.names());
  for (const std::string& name : reference.names()) {
    const HostTensor expected = reference.get(name), values = own.get(name);
    ASSERT_EQ(values.type(), expected.type()) << name;
    if (!name.starts_with("rope_")) {
      EXPECT_EQ(values, expected) << name;
      continue;
    }
    for (int64_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values.at(i) / expected.at(i), 1, 1e-6) << name;
  }
  for (const auto& [key, value] : reference.metadata().entries()) {
    if (key.starts_with("tokenizer.")) continue;
    const auto found = own.metadata().find(key);
    ASSERT_TRUE(found) << key;
    EXPECT_EQ(to_text(found->value()), to_text(value)) << key;
  }
}

TEST_P(WriteGgufModels, AreReadBack) {
  write(GetParam(), fields_of(GetParam()), "F32");
  const ImportedModel own = read_gguf(path_),
                      folder = read_hugging_face(reference_file("hugging_face/" + GetParam()));
  EXPECT_EQ(own.max_seq_len, folder.max_seq_len);
  ASSERT_EQ(own.parameters.size(), folder.parameters.size());
  for (const auto& [path, value] : own.parameters) {
    const HostTensor& expected = folder.parameters.at(path);
    // The scales of Gemma's norms are stored as 1 + w.
    if (!GetParam().starts_with("gemma")) {
      EXPECT_EQ(value, expected) << path;
      continue;
    }
    for (int64_t i = 0; i < value.size(); ++i) ASSERT_NEAR(value.at(i), expected.at(i), 2e-7);
  }
}

std::vector<std::string> models() {
  std::vector<std::string> out;
  for (const fs::path& file : list_directory(reference_file("gguf/models")))
    out.push_back(file.stem().string());
  std::ranges::sort(out);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Models, WriteGgufModels, ::testing::ValuesIn(models()),
                         [](const auto& at) { return test_name(at.param); });

// Vectors and routers stay F32. Rows of 16 and 24 values are no blocks of 32.
TEST_F(WriteGguf, MatricesHaveTheRequestedType) {
  for (const std::string type : {"F16", "BF16", "Q8_0"}) {
    write("mixtral", fields_of("mixtral"), type);
    const GgufFile file(path_);
    const std::string matrices = type == "Q8_0" ? "F16" : type;
    EXPECT_EQ(file.tensor("blk.0.attn_q.weight").type->name, matrices);
    EXPECT_EQ(file.tensor("blk.0.ffn_up_exps.weight").type->name, matrices);
    EXPECT_EQ(file.tensor("blk.0.ffn_gate_inp.weight").type->name, "F32");
    EXPECT_EQ(file.tensor("blk.0.attn_norm.weight").type->name, "F32");
    const SafetensorsFolder tensors(reference_file("hugging_face/mixtral"));
    const DType dtype = type == "BF16" ? DType::kBF16 : DType::kF16;
    EXPECT_EQ(file.get("token_embd.weight"),
              tensors.get("model.embed_tokens.weight").astype(dtype));
    EXPECT_EQ(file.metadata().at("general.file_type").integer(0, 100), type == "F16"    ? 1
                                                                       : type == "BF16" ? 32
                                                                                        : 7);
  }
}

// A model whose rows are four times as wide, so that they are whole blocks.
class Wide final : public TensorSource {
 public:
  explicit Wide(const std::string& folder) : narrow_(folder) {}
  std::vector<std::string> names() const override { return narrow_.names(); }
  Type type(const std::string& name) const override {
    Type out = narrow_.type(name);
    for (int64_t& size : out.dims) size *= size == kVocabSize ? 1 : 4;
    return out;
  }
  HostTensor get(const std::string& name) const override {
    const HostTensor values = narrow_.get(name);
    HostTensor out(type(name));
    const std::span<float> numbers = out.values<float>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(values.at(static_cast<int64_t>(i) % values.size())) *
                   (1 + static_cast<float>(i % 101) / 101);
    }
    return out;
  }
  const std::string& where() const override { return narrow_.where(); }

 private:
  static constexpr int64_t kVocabSize = 40;
  SafetensorsFolder narrow_;
};

TEST_F(WriteGguf, RowsOfWholeBlocksAreBlocks) {
  Json fields = fields_of("llama");
  for (const char* size : {"hidden_size", "intermediate_size", "head_dim"})
    fields[size] = 4 * fields[size].get<int64_t>();
  const Wide wide(reference_file("hugging_face/llama"));
  write_gguf(path_, {.fields = fields, .type = "F32"}, wide);
  const GgufFile plain(path_);
  const std::string coded_path = dir_ / "coded.gguf";
  write_gguf(coded_path, {.fields = fields, .type = "Q8_0"}, wide);
  const GgufFile coded(coded_path);
  int num_matrices = 0;
  for (const std::string& name : plain.names()) {
    const HostTensor expected = plain.get(name), values = coded.get(name);
    ASSERT_EQ(values.shape(), expected.shape()) << name;
    if (expected.shape().size() < 2) {
      EXPECT_EQ(values, expected) << name;
      continue;
    }
    ++num_matrices;
    ASSERT_EQ(coded.tensor(name).type->name, "Q8_0") << name;
    std::vector<std::byte> blocks(static_cast<size_t>(expected.size() / 32 * 34));
    q8_0_blocks(expected.values<float>().data(), expected.size() / 32, blocks.data());
    HostTensor decoded(expected.type());
    q8_0_values(blocks.data(), expected.size() / 32, decoded.values<float>().data());
    EXPECT_EQ(values, decoded) << name;
    EXPECT_NE(values, expected) << name;
  }
  EXPECT_EQ(num_matrices, 2 + 2 * 7);
}

TEST_F(WriteGguf, ModelsWithoutGgufKeysAreRefused) {
  const auto error = [&](const std::string& name, const std::string& key, const Json& value) {
    Json fields = fields_of(name);
    fields[key] = value;
    return error_of<ConfigError>([&] { write(name, fields, "F32"); });
  };
  EXPECT_THAT(error("qwen3_moe", "norm_topk_prob", false),
              HasSubstr("expected a model that GGUF has keys for, got "));
  EXPECT_THAT(error("qwen3_moe", "mlp_only_layers", {1}),
              HasSubstr("expected experts in all layers, as GGUF has them, got layers without"));
  EXPECT_THAT(error("qwen2_window", "max_window_layers", 1), HasSubstr("mask"));
  EXPECT_THAT(error("llama", "rope_parameters", {{"rope_type", "dynamic"}, {"factor", 2.0}}),
              HasSubstr("got frequencies that fall with the length of a text"));
  EXPECT_THAT(error("gemma3", "query_pre_attn_scalar", 7), HasSubstr("core.scale"));
  EXPECT_THAT(error("llama", "hidden_act", "gelu"), HasSubstr("activation"));
  EXPECT_THAT(error("gemma2", "final_logit_softcapping", nullptr),
              HasSubstr("final_logit_softcapping: expected a number for GGUF, got none"));
  EXPECT_THAT(error("gemma2", "layer_types", Json(std::vector<Json>(5, "sliding_attention"))),
              HasSubstr("mask"));
  EXPECT_THAT(
      error("llama", "rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}),
      HasSubstr("got a part of a head in llama"));
  EXPECT_THAT(
      error("qwen2", "rope_parameters",
            {{"rope_type", "llama3"}, {"factor", 8.0}, {"original_max_position_embeddings", 16}}),
      HasSubstr("got divisors of frequencies in qwen2"));
  EXPECT_THAT(error("llama", "rope_parameters",
                    {{"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 16.0}}),
              HasSubstr("got YaRN with other bounds"));
  EXPECT_THAT(error("llama", "model_type", "mamba2"),
              HasSubstr("expected a model of one of gemma2, gemma3_text, gpt2, llama"));
  EXPECT_FALSE(path_exists(path_));
}

}  // namespace
}  // namespace axle
