// Weights that are read as codes, from a GGUF file, from another model's folder and from a run.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "interop/forms/plain_model.h"
#include "interop/gguf/tiny_gguf_test.h"
#include "interop/hugging_face.h"
#include "layers/products/quantized_product.h"
#include "testing/host_tensors.h"

namespace axle {
namespace {

const Report kNoReport = [](const std::string&) {};

// A model with all weights as codes that can be.
struct CodedModel {
  Child<Model> config;
  std::unique_ptr<Model> model;
};
CodedModel coded_model(const Child<Model>& plain, const QuantizedProduct::Config& product) {
  CodedModel out{.config = plain, .model = {}};
  apply_modifier(KeepAsCodes::Config{.with = product}, "modify[0]", out.config);
  out.model = out.config.build({}, Scope{.path = "model"});
  return out;
}

// The parameters with weights instead of codes, by their paths below the model.
Tree<HostTensor> decoded(const CodedModel& coded, Tree<HostTensor> parameters) {
  for (const QuantizedProduct* product : quantized_products(*coded.model))
    product->decode_in(parameters);
  return subtree(parameters, "model");
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
  double out = 0;
  for (int64_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a.at(i) - b.at(i)));
  return out;
}

class CodedGguf : public TinyGguf {
 protected:
  // Sets 64 hidden units in the feed-forward layers, and stores in blocks the weights whose rows
  // are whole blocks.
  void write_wide() {
    metadata_.set("llama.feed_forward_length", uint32_t{64});
    std::map<std::string, std::string> types;
    for (auto& [name, value] : tensors_) {
      const bool is_down = name.ends_with("ffn_down.weight");
      if (is_down) types[name] = "Q8_0";
      if (is_down || name.ends_with("ffn_up.weight") || name.ends_with("ffn_gate.weight"))
        value = testing::normal_values(is_down ? Shape{16, 64} : Shape{64, 16}, 5);
    }
    write(types);
  }
  Tree<HostTensor> coded_parameters(const QuantizedProduct::Config& product,
                                    int64_t num_kept) const {
    const CodedModel coded = coded_model(read_gguf(path_, {.with_weights = false}).model, product);
    ModelParameters read = load_initial_parameters(path_, *coded.model, kNoReport);
    EXPECT_EQ(read.num_coded, std::ssize(quantized_products(*coded.model)));
    EXPECT_GE(read.num_coded, 1);
    EXPECT_EQ(read.num_rounded, read.num_coded - num_kept);
    return decoded(coded, std::move(read.by_path));
  }
};

TEST_F(CodedGguf, KeepsTheNumbersOfBlocksThatFit) {
  write_wide();
  const std::string down = "decoder/layers/layer/feed_forward/body/down/weight";
  const HostTensor plain = read_gguf(path_).parameters.at(down);
  for (const int64_t group : {32, 16}) {
    const auto coded = coded_parameters({.bits = CodeBits::kEight, .group = group}, 1);
    EXPECT_EQ(largest_difference(coded.at(down), plain), 0) << group;
  }
}

TEST_F(CodedGguf, MissingPathIsRefused) {
  write_wide();
  Child<Model> config = read_gguf(path_).model;
  try {
    apply_modifier(KeepAsCodes::Config{.from = "/nowhere.gguf"}, "modify[0]", config);
    FAIL() << "expected an error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("KeepAsCodes.from: expected a path as --init-from takes it, "
                                     "got /nowhere.gguf: nothing there"));
  }
}

// The blocks of a weight say its form; other weights get the product of the modifier.
TEST_F(CodedGguf, ProductFollowsTheBlocksOfEachWeight) {
  write_wide();
  const ImportedModel plain = read_gguf(path_);
  CodedModel coded{.config = plain.model, .model = {}};
  const auto apply = [&] {
    return apply_modifier(
               KeepAsCodes::Config{.from = path_, .with = QuantizedProduct::Config{.group = 8}},
               "modify[0]", coded.config)[0]
        .report;
  };
  EXPECT_EQ(apply().skipped.size(), 1u) << "the table, which is stored as numbers";
  EXPECT_TRUE(apply().matched.empty()) << "codes stay as they are";
  coded.model = coded.config.build({}, Scope{.path = "model"});
  for (const QuantizedProduct* product : quantized_products(*coded.model)) {
    const CodeScheme& own = product->form().scheme;
    if (product->weight_path().ends_with("down/weight"))
      EXPECT_EQ(own, *find_block_type("Q8_0")->groups.scheme);
    else
      EXPECT_EQ(own, (CodeScheme{CodeBits::kFour, 8, ScaleForm::kF16, OffsetForm::kOwn}));
  }
  ModelParameters read = load_initial_parameters(path_, *coded.model, kNoReport);
  EXPECT_EQ(read.num_rounded, read.num_coded - 1);
  const std::string down = "decoder/layers/layer/feed_forward/body/down/weight";
  EXPECT_EQ(decoded(coded, std::move(read.by_path)).at(down), plain.parameters.at(down));
}

TEST_F(CodedGguf, RoundsWeightsThatItsCodesCannotHold) {
  write_wide();
  const Tree<HostTensor> plain = read_gguf(path_).parameters;
  const auto coded = coded_parameters({.bits = CodeBits::kFour, .group = 16}, 0);
  for (const std::string name : {"up", "down"}) {
    const std::string path = "decoder/layers/layer/feed_forward/body/" + name + "/weight";
    const double difference = largest_difference(coded.at(path), plain.at(path));
    EXPECT_GT(difference, 0);
    double largest = 0;
    for (int64_t i = 0; i < plain.at(path).size(); ++i)
      largest = std::max(largest, std::abs(plain.at(path).at(i)));
    EXPECT_LT(difference, 2 * largest / 15 * 0.51);  // half of a step between 16 numbers
  }
  EXPECT_EQ(coded.at("decoder/emb/weight"), plain.at("decoder/emb/weight"));
}

// How many bytes this process has read from files.
int64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  int64_t out = 0;
  counts >> name >> out;
  EXPECT_EQ(name, "rchar:");
  return out;
}

// Also of the four experts of a layer, which are one tensor of the file.
TEST_F(CodedGguf, ReadsEachByteOnce) {
  open("mixtral");
  metadata_.set("llama.embedding_length", uint32_t{16});
  metadata_.set("llama.feed_forward_length", uint32_t{4096});
  std::map<std::string, std::string> types;
  for (auto& [name, value] : tensors_) {
    const bool is_down = name.ends_with("ffn_down_exps.weight");
    if (is_down) types[name] = "Q8_0";
    if (is_down || name.ends_with("ffn_up_exps.weight") || name.ends_with("ffn_gate_exps.weight"))
      value = testing::normal_values(is_down ? Shape{4, 16, 4096} : Shape{4, 4096, 16}, 5);
  }
  write(types);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path_));
  const int64_t before = bytes_read();
  coded_parameters({.bits = CodeBits::kEight, .group = 16}, 1);
  constexpr int64_t kHeaders = 1 << 20;
  EXPECT_LT(bytes_read() - before, size + kHeaders);
}

TEST_F(CodedGguf, MissingWeightsAreReported) {
  tensors_.erase("blk.0.ffn_up.weight");
  write();
  const CodedModel coded =
      coded_model(read_gguf(path_, {.with_weights = false}).model, {.group = 8});
  try {
    load_initial_parameters(path_, *coded.model, kNoReport);
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("blk.0.ffn_up.weight: expected a tensor"));
  }
}

TEST(CodedWeightsOfFolders, AreRounded) {
  const auto folder = reference_file("hugging_face/llama");
  const ImportedModel plain = read_hugging_face(folder);
  const CodedModel coded =
      coded_model(plain.model, {.bits = CodeBits::kEight, .group = 16, .scales = ScaleForm::kF32});
  const auto read =
      decoded(coded, load_initial_parameters(folder, *coded.model, kNoReport).by_path);
  const std::string path = "decoder/layers/layer/feed_forward/body/up/weight";
  const double difference = largest_difference(read.at(path), plain.parameters.at(path));
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.01);
}

}  // namespace
}  // namespace axle
