#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/gguf/tiny_gguf_test.h"
#include "interop/hugging_face.h"
#include "interop/import_model.h"
#include "interop/model_folder.h"
#include "interop/save_model.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "testing/error_of.h"
#include "testing/peak_memory.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::string config_text(const ImportedModel& model) {
  return config_document({.model = model.model, .tokenizer = {}, .parameters = {}}).dump();
}

class GgufModel : public TinyGguf {
 protected:
  DType dtype_read() const {
    const ImportedModel model = read_gguf(path_);
    const DType out = model.parameters.at("decoder/emb/weight").dtype();
    for (const auto& [path, value] : model.parameters) EXPECT_EQ(value.dtype(), out) << path;
    return out;
  }
  std::string config_error() const {
    write();
    return error_of<ConfigError>([&] { read_gguf(path_); });
  }
};

// llama.cpp keeps vectors in F32, for any type of the file.
TEST_F(GgufModel, ParametersKeepTheirDtype) {
  for (const auto& [type, stored, dtype] : {std::tuple("F32", DType::kF32, DType::kF32),
                                            {"BF16", DType::kBF16, DType::kBF16},
                                            {"F16", DType::kF16, DType::kF32}}) {
    write_matrices(type);
    EXPECT_EQ(dtype_read(), dtype);
    EXPECT_EQ(read_gguf(path_).parameters.at("decoder/emb/weight"),
              tensors_.at("token_embd.weight").astype(stored).astype(dtype));
  }
  write({{"token_embd.weight", "BF16"}, {"blk.0.attn_q.weight", "F16"}});
  EXPECT_EQ(dtype_read(), DType::kF32);
}

TEST_F(GgufModel, BlocksBecomeF32) {
  HostTensor& down = tensors_.at("blk.0.ffn_down.weight");
  // Blocks need 32 values in a row: a model with that many hidden units.
  metadata_.set("llama.feed_forward_length", uint32_t{32});
  for (const int layer : {0, 1}) {
    const std::string block = "blk." + std::to_string(layer) + ".ffn_";
    for (const char* name : {"gate", "up"})
      tensors_.insert_or_assign(block + name + ".weight", HostTensor::full({32, 16}, 0.5));
    tensors_.insert_or_assign(block + "down.weight", HostTensor::full({16, 32}, 0.5));
  }
  for (int64_t i = 0; i < down.size(); ++i) down.values<float>()[i] = static_cast<float>(i % 32);
  write({{"blk.0.ffn_down.weight", "Q8_0"}});
  EXPECT_EQ(dtype_read(), DType::kF32);
  const HostTensor stored = GgufFile(path_).get("blk.0.ffn_down.weight");
  ASSERT_NE(stored, down);
  const HostTensor read =
      read_gguf(path_).parameters.at("decoder/layers/layer/feed_forward/body/down/weight");
  for (int64_t hidden = 0; hidden < 32; ++hidden)
    for (int64_t out = 0; out < 16; ++out)
      ASSERT_EQ(read.at(hidden * 16 + out), stored.at(out * 32 + hidden));
}

// A vocabulary is most of a small model: as f32 it would stand beside its numbers in bf16.
TEST_F(GgufModel, ReadingTakesLittleMoreMemoryThanTheParametersInTheirDtype) {
  write();
  read_gguf(path_);  // the code is in memory then
  metadata_.set("llama.vocab_size", uint32_t{1 << 22});
  tensors_.insert_or_assign("token_embd.weight", HostTensor::full({1 << 22, 16}, 0.5));
  write();
  tensors_.clear();
  reset_peak_resident_bytes();
  const int64_t before = peak_resident_bytes();
  const ImportedModel read = read_gguf(path_, {.dtypes = {.all = DType::kBF16}});
  const HostTensor& table = read.parameters.at("decoder/emb/weight");
  EXPECT_LT(static_cast<double>(peak_resident_bytes() - before),
            1.2 * static_cast<double>(table.bytes().size()));
  EXPECT_EQ(table, HostTensor::full({1 << 22, 16}, 0.5).astype(DType::kBF16));
}

TEST_F(GgufModel, UnknownKeysOfTheArchitectureAreNamed) {
  metadata_.set("llama.magic", uint32_t{3});
  metadata_.set("llama.rope.spin", 0.5f);
  metadata_.set("llama.unused_feature", false);  // says nothing
  metadata_.set("general.magic", uint32_t{3});
  metadata_.set("quantize.imatrix.file", "x");
  EXPECT_THAT(config_error(),
              HasSubstr("model.gguf: expected fields that Axle knows, got llama.magic, "
                        "llama.rope.spin; if they do not change what the model computes, give "
                        "--ignore llama.magic --ignore llama.rope.spin"));
  read_gguf(path_, {.ignored = {"llama.magic", "llama.rope.spin"}});
}

TEST_F(GgufModel, SeparateHeadIsNotTied) {
  EXPECT_FALSE(read_gguf(reference_file("gguf/models/llama_tied.gguf"))
                   .parameters.contains("decoder/lm_head/weight"));
  tensors_.emplace("output.weight", tensors_.at("token_embd.weight"));
  write();
  EXPECT_TRUE(read_gguf(path_).parameters.contains("decoder/lm_head/weight"));
}

TEST_F(GgufModel, ConfigIsReadWithoutWeights) {
  write();
  const ImportedModel model = read_gguf(path_, {.with_weights = false});
  EXPECT_TRUE(model.parameters.empty());
  EXPECT_EQ(model.vocab_size, 40);
  EXPECT_EQ(model.max_seq_len, 32);
  EXPECT_TRUE(model.tokenizer.empty());
}

TEST_F(GgufModel, AnOldNameOfTheFactorOfLinearScalingIsKnown) {
  open("llama_linear_rope");
  write();
  const ImportedModel scaled = read_gguf(path_, {.with_weights = false});
  remove_key("llama.rope.scaling.type");
  remove_key("llama.rope.scaling.factor");
  metadata_.set("llama.rope.scale_linear", 2.0f);
  write();
  EXPECT_EQ(config_text(read_gguf(path_, {.with_weights = false})), config_text(scaled));
  remove_key("llama.rope.scale_linear");
  write();
  EXPECT_NE(config_text(read_gguf(path_, {.with_weights = false})), config_text(scaled));
}

// Gemma's layers that see everything have a period of 6 unless the file says otherwise.
TEST_F(GgufModel, LayersWithWindowsFollowThePattern) {
  open("gemma3_linear_rope");
  write();
  const std::string period_3 = config_text(read_gguf(path_, {.with_weights = false}));
  metadata_.set("gemma3.attention.sliding_window_pattern", uint32_t{3});
  write();
  EXPECT_EQ(config_text(read_gguf(path_, {.with_weights = false})), period_3);
  remove_key("gemma3.attention.sliding_window_pattern");
  write();
  const std::string period_6 = config_text(read_gguf(path_, {.with_weights = false}));
  EXPECT_NE(period_6, period_3);
  metadata_.set("gemma3.attention.sliding_window_pattern", uint32_t{6});
  write();
  EXPECT_EQ(config_text(read_gguf(path_, {.with_weights = false})), period_6);
  remove_key("gemma3.attention.sliding_window");
  write();
  EXPECT_EQ(config_text(read_gguf(path_, {.with_weights = false})).find("SlidingWindowMask"),
            std::string::npos);
}

// Whoever takes the folder of an import takes the file as well. The import needs it no more.
TEST_F(GgufModel, FileReadInPlaceMatchesItsImport) {
  std::vector<std::string> tokens = {"<|end|>"};
  for (char letter = 'A'; tokens.size() < 40; ++letter) tokens.emplace_back(1, letter);
  std::vector<int32_t> kinds(tokens.size(), 1);
  kinds[0] = 3;
  metadata_.set("tokenizer.ggml.model", "gpt2");
  metadata_.set("tokenizer.ggml.pre", "smollm");
  metadata_.set("tokenizer.ggml.tokens", tokens);
  metadata_.set("tokenizer.ggml.token_type", kinds);
  metadata_.set("tokenizer.ggml.merges", std::vector<std::string>{});
  metadata_.set("tokenizer.ggml.eos_token_id", uint32_t{0});
  metadata_.set("tokenizer.chat_template", "{{ messages }}");
  write_matrices("BF16");
  ASSERT_TRUE(is_foreign_model(path_));
  const ImportReport report = import_model({.source = path_, .dir = dir_ / "imported"});
  EXPECT_THAT(to_text(report), HasSubstr("vocabulary of 40, texts of up to 32 tokens"));
  EXPECT_TRUE(report.has_tokenizer);
  const auto quiet = [](const std::string&) {};
  const LoadedModel direct = load_model(path_, Weights::kTrained, quiet);
  EXPECT_EQ(direct.parameters.at("model/decoder/emb/weight").dtype(), DType::kBF16);
  std::filesystem::remove(path_);
  std::filesystem::rename(dir_ / "imported", dir_ / "moved");
  const LoadedModel moved = load_model(dir_ / "moved", Weights::kTrained, quiet);
  EXPECT_EQ(moved.parameters, direct.parameters);
  EXPECT_EQ(moved.context_len, 32);
  EXPECT_THAT(moved.tokenizer->encode("BA"), ::testing::ElementsAre(2, 1));
  EXPECT_EQ(moved.tokenizer->special_ids().eos, 0);
  EXPECT_EQ(moved.tokenizer->fingerprint(), direct.tokenizer->fingerprint());
}

TEST_F(GgufModel, ATokenizerOfMoreTokensThanTheModelIsRefused) {
  metadata_.set("tokenizer.ggml.model", "gpt2");
  metadata_.set("tokenizer.ggml.pre", "smollm");
  std::vector<std::string> tokens;
  for (int i = 0; i < 41; ++i) tokens.push_back("t" + std::to_string(i));
  metadata_.set("tokenizer.ggml.tokens", tokens);
  metadata_.set("tokenizer.ggml.merges", std::vector<std::string>{});
  write();
  EXPECT_THAT(error_of<DataError>([&] { read_foreign_model(path_); }),
              HasSubstr("expected a vocabulary of at most 40 tokens, as in the weights, got 41"));
}

TEST_F(GgufModel, ANamedTokenizerIsComparedWithTheFilesOwn) {
  metadata_.set("tokenizer.ggml.bos_token_id", uint32_t{5});
  metadata_.set("tokenizer.ggml.eos_token_id", uint32_t{0});
  metadata_.set("tokenizer.ggml.eot_token_id", uint32_t{3});
  metadata_.set("tokenizer.ggml.tokens", std::vector<std::string>(20, "t"));
  write();
  const ImportedModel model = read_gguf(path_);
  EXPECT_EQ(model.special.bos, std::vector<int64_t>{5});
  EXPECT_EQ(model.special.eos, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(model.num_tokens, 20);
  GgufMetadata other;
  other.set("tokenizer.ggml.model", "gpt2");
  other.set("tokenizer.ggml.pre", "smollm");
  other.set("tokenizer.ggml.tokens", std::vector<std::string>{"A", "B", "C", "D", "E"});
  other.set("tokenizer.ggml.merges", std::vector<std::string>{});
  const auto problem = [&](uint32_t end, size_t num_tokens) {
    other.set("tokenizer.ggml.eos_token_id", end);
    std::vector<std::string> tokens;
    for (size_t i = 0; i < num_tokens; ++i) tokens.emplace_back(1, static_cast<char>('A' + i));
    other.set("tokenizer.ggml.tokens", tokens);
    replace_file(dir_ / "other.gguf", gguf_without_tensors(other));
    return error_of<DataError>(
        [&] { read_foreign_model(path_, {.tokenizer = dir_ / "other.gguf"}); });
  };
  EXPECT_THAT(problem(2, 10), HasSubstr("the model has eos 0 or 3 and not 2; give the tokenizer"));
  EXPECT_THAT(problem(3, 9), HasSubstr("expected the tokenizer of a model of 20 tokens, got one "
                                       "with a vocabulary of 9"));
}

// A file says what it is by its bytes or by its name.
TEST_F(GgufModel, RecognisesFilesByBytesOrName) {
  write();
  std::filesystem::rename(path_, dir_ / "model");
  EXPECT_TRUE(is_gguf(dir_ / "model"));
  replace_file(path_, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  EXPECT_TRUE(is_gguf(path_));
  EXPECT_THAT(error_of<DataError>([&] { read_gguf(path_); }),
              HasSubstr("expected a GGUF file, got a git-LFS pointer"));
  replace_file(dir_ / "text", "GG");
  for (const char* other : {"text", "none", "."}) EXPECT_FALSE(is_gguf(dir_ / other)) << other;
}

}  // namespace
}  // namespace axle
