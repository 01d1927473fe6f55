// GGUF files whose model is damaged, foreign or hostile: one line each, at once.
#include <gmock/gmock.h>

#include "base/error.h"
#include "interop/gguf/tiny_gguf_test.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/mutants.h"
#include "testing/peak_memory.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GgufModelFault : public TinyGguf {
 protected:
  // The message without the file, which it begins with.
  std::string error() const {
    write();
    const Thrown thrown = thrown_by<Error>([&] { read_gguf(path_); });
    EXPECT_EQ(thrown.code, ExitCode::kData);
    EXPECT_THAT(thrown.message, ::testing::StartsWith(path_));
    return thrown.message.substr(std::min(path_.size(), thrown.message.size()));
  }
  std::string error_with(const std::string& key, const GgufValue& value) {
    const GgufMetadata good = metadata_;
    metadata_.set(key, value);
    std::string out = error();
    metadata_ = good;
    return out;
  }
};

TEST_F(GgufModelFault, WrongTensorsAreListedByTheirNamesInTheFile) {
  tensors_.erase("blk.1.ffn_up.weight");
  tensors_.insert_or_assign("output_norm.weight", HostTensor::full({15}, 1));
  tensors_.emplace("blk.0.extra.weight", HostTensor::full({2}, 1));
  tensors_.emplace("blk.7.attn_q.weight", HostTensor::full({16, 16}, 1));
  tensors_.at("blk.0.attn_norm.weight").values<float>()[2] = std::numeric_limits<float>::infinity();
  const std::string text = error();
  EXPECT_THAT(text, AllOf(HasSubstr("blk.1.ffn_up.weight: expected a tensor [24, 16], got none"),
                          HasSubstr("output_norm.weight: expected floats [16], got f32[15]"),
                          HasSubstr("blk.0.extra.weight: expected no tensor of this name"),
                          HasSubstr("blk.7.attn_q.weight: expected no tensor of this name")));
  tensors_.erase("blk.0.extra.weight");
  tensors_.erase("blk.7.attn_q.weight");
  open("llama_tied");
  tensors_.at("blk.0.attn_norm.weight").values<float>()[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error(), HasSubstr("blk.0.attn_norm.weight: expected finite numbers, got NaN"));
}

// Experts of one number each: a tensor of them stays one until there are that many.
TEST_F(GgufModelFault, UnexpectedExpertTensorsTakeNoMemory) {
  const HostTensor many(Type{DType::kF32, {1'000'000, 1, 1}});
  const auto expect_small = [&](const std::string& name, const std::string& message) {
    tensors_.insert_or_assign(name, many);
    write();
    reset_peak_resident_bytes();
    const int64_t before = peak_resident_bytes();
    EXPECT_THAT(thrown_by<Error>([&] { read_gguf(path_); }).message, HasSubstr(message));
    EXPECT_LT(peak_resident_bytes() - before, 32 << 20);
  };
  const std::string unknown = ": expected no tensor of this name, got f32[1000000, 1, 1]";
  expect_small("blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate_exps.weight" + unknown);
  open("mixtral");
  expect_small("blk.1.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight" + unknown);
  open("mixtral");
  metadata_.set("llama.expert_count", uint32_t{1'000'000});
  for (const std::string layer : {"0", "1"})
    tensors_.insert_or_assign("blk." + layer + ".ffn_gate_exps.weight", many);
  expect_small("blk.1.ffn_up_exps.weight",
               "expert_count': expected at most 65536, got u32 1000000");
}

TEST_F(GgufModelFault, KeysOfOtherTypesAndValuesAreNamed) {
  EXPECT_THAT(error_with("general.architecture", "rwkv7"),
              HasSubstr("key 'general.architecture': expected one of gemma2, gemma3, gpt2, llama, "
                        "olmo2, phi3, qwen2, qwen3, qwen3moe, got text 'rwkv7'"));
  EXPECT_THAT(error_with("general.architecture", uint32_t{1}), HasSubstr("expected a text"));
  EXPECT_THAT(error_with("general.type", "adapter"), HasSubstr("expected model, got"));
  EXPECT_THAT(error_with("split.count", uint16_t{3}),
              HasSubstr("expected a whole model; join its parts first"));
  EXPECT_THAT(error_with("llama.embedding_length", "16"),
              HasSubstr("key 'llama.embedding_length': expected an integer of 1 to 2147483647, "
                        "got text '16'"));
  EXPECT_THAT(error_with("llama.embedding_length", uint32_t{0}), HasSubstr("got u32 0"));
  EXPECT_THAT(error_with("llama.embedding_length", uint32_t{32}),
              HasSubstr("token_embd.weight: expected floats [40, 32], got f32[40, 16]"));
  EXPECT_THAT(error_with("llama.feed_forward_length", std::vector<int32_t>{24, 24}),
              HasSubstr("got array of 2 i32"));
  EXPECT_THAT(error_with("llama.attention.layer_norm_rms_epsilon", std::nanf("")),
              HasSubstr("expected a finite number"));
  EXPECT_THAT(error_with("llama.attention.value_length", uint32_t{8}),
              HasSubstr("expected the key_length of the same heads, got u32 8"));
  EXPECT_THAT(error_with("llama.attention.causal", false), HasSubstr("expected true"));
  EXPECT_THAT(error_with("llama.rope.scaling.type", "dynamic"),
              HasSubstr("expected none, linear, yarn or longrope, got text 'dynamic'"));
  EXPECT_THAT(error_with("llama.rope.scaling.type", "yarn"),
              HasSubstr("expected the key 'llama.rope.scaling.factor'"));
  EXPECT_THAT(error_with("llama.rope.scaling.type", "longrope"),
              HasSubstr("rope_factors_short.weight"));
  EXPECT_THAT(error_with("llama.rope.dimension_count", uint32_t{6}),
              HasSubstr("expected at most 4, the dim of a head, got u32 6"));
  EXPECT_THAT(error_with("llama.vocab_size", uint32_t{41}),
              HasSubstr("expected 40, the rows of token_embd.weight, got u32 41"));
  for (const char* key : {"llama.embedding_length", "llama.block_count", "llama.context_length",
                          "llama.attention.head_count", "general.architecture"}) {
    const GgufMetadata good = metadata_;
    remove_key(key);
    EXPECT_THAT(error(), HasSubstr(std::string("expected the key '") + key + "'"));
    metadata_ = good;
  }
}

// No parts are made before the file is known to have tensors for as many.
TEST_F(GgufModelFault, AbsurdCountsAreRefusedAtOnce) {
  const uint32_t huge = 2147483647;
  EXPECT_THAT(error_with("llama.block_count", huge),
              HasSubstr("with a tensor blk.2147483646.attn_norm.weight, got u32 2147483647"));
  EXPECT_THAT(error_with("llama.expert_count", huge), HasSubstr("blk.0.ffn_gate_exps.weight"));
  for (const char* key :
       {"llama.embedding_length", "llama.feed_forward_length", "llama.attention.head_count_kv"})
    EXPECT_THAT(error_with(key, huge), Not(HasSubstr("no error"))) << key;
  open("mixtral");
  EXPECT_THAT(error_with("llama.expert_count", huge),
              HasSubstr("expected the first dim of blk.0.ffn_gate_exps.weight, [4, 24, 16]"));
  tensors_.insert_or_assign("blk.0.ffn_gate_exps.weight", HostTensor(Type{DType::kF32, {0, 4, 4}}));
  EXPECT_THAT(error(), HasSubstr("key 'llama.expert_count'"));
  open("gemma3_linear_rope");
  EXPECT_THAT(error_with("gemma3.block_count", huge), HasSubstr("expected the number of layers"));
}

TEST_F(GgufModelFault, DivisorsOfFrequenciesMustFit) {
  open("llama3_rope");
  const HostTensor good = tensors_.at("rope_freqs.weight");
  tensors_.insert_or_assign("rope_freqs.weight", HostTensor::full({3}, 1));
  EXPECT_THAT(error(), HasSubstr("rope_freqs.weight: expected 2 numbers, got [3]"));
  tensors_.insert_or_assign("rope_freqs.weight", good);
  metadata_.set("llama.rope.scaling.factor", 2.0f);
  EXPECT_THAT(error(), HasSubstr("expected linear or divisors of frequencies, got both"));
}

TEST_F(GgufModelFault, AFileThatIsCutOffIsRefused) {
  write();
  const std::string bytes = read_file(path_);
  for (const size_t size : {size_t{0}, size_t{3}, size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
    replace_file(path_, bytes.substr(0, size));
    EXPECT_NE(error_of<DataError>([&] { read_gguf(path_); }), "no error") << size;
  }
}

// Any damage leads to an error of Axle or a model.
TEST_F(GgufModelFault, DamagedFilesAreReadOrRefused) {
  for (const char* name : {"llama3_rope", "mixtral", "gemma3_linear_rope", "gpt2"}) {
    open(name);
    write();
    for (const std::string& bytes : mutants(read_file(path_), 150, 3000)) {
      FileWriter file(path_);
      file.write(bytes);
      file.close();
      const Thrown thrown = thrown_by<Error>([&] { read_gguf(path_); });
      EXPECT_NE(thrown.code, ExitCode::kInternal) << thrown.message;
      EXPECT_LT(thrown.message.size(), 10000u);
    }
  }
}

}  // namespace
}  // namespace axle
