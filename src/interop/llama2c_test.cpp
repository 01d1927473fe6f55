#include "interop/llama2c.h"

#include <gmock/gmock.h>

#include <cstring>

#include "config/fields.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// A file of 7 header numbers, then the floats 0, 1, 2, ...
std::string file_of(const std::vector<int32_t>& header, int64_t num_floats) {
  std::string out(reinterpret_cast<const char*>(header.data()), header.size() * sizeof(int32_t));
  for (int64_t i = 0; i < num_floats; ++i) {
    const auto v = static_cast<float>(i);
    out.append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  return out;
}

// dim 4, hidden 3, 2 layers, 2 heads of 2, 1 key/value head, 5 tokens, 6 positions.
std::vector<int32_t> header(int32_t vocab_size = 5) { return {4, 3, 2, 2, 1, vocab_size, 6}; }
constexpr int64_t kNumFloats = 20 + 8 + 32 + 16 + 16 + 32 + 8 + 24 + 24 + 24 + 4 + 12;

class Llama2c : public ::testing::Test {
 protected:
  ImportedModel read(const std::string& bytes) {
    replace_file(dir_ / "model.bin", bytes);
    return read_llama2c(dir_ / "model.bin");
  }
  std::string message(const std::string& bytes) {
    return error_of<DataError>([&] { read(bytes); });
  }
  TempDir dir_;
};

TEST_F(Llama2c, ParametersMatchTheSpecsOfTheModel) {
  const ImportedModel model = read(file_of(header(), kNumFloats));
  const auto lm = Child<Model>(model.model).build({}, {});
  const Tree<ParamSpec> specs = lm->param_specs();
  for (const auto& [path, spec] : specs) {
    ASSERT_TRUE(model.parameters.contains(path)) << path;
    EXPECT_EQ(model.parameters.at(path).type(), spec.type()) << path;
  }
  EXPECT_EQ(model.parameters.size(), specs.size());
  EXPECT_EQ(model.vocab_size, 5);
  EXPECT_EQ(model.max_seq_len, 6);
}

TEST_F(Llama2c, MatricesAreTransposed) {
  const ImportedModel model = read(file_of(header(), kNumFloats));
  const auto at = [&](const std::string& path, int64_t i) {
    return model.parameters.at("decoder/" + path).at(i);
  };
  EXPECT_EQ(at("emb/weight", 0), 0);
  EXPECT_EQ(at("emb/weight", 19), 19);
  EXPECT_EQ(at("layers/layer0/attention/norm/scale", 0), 20);
  EXPECT_EQ(at("layers/layer1/attention/norm/scale", 0), 24);
  // q of layer 1 begins at 28 + 16. Our element [input 1, output 2] is the file's [output 2, input
  // 1].
  EXPECT_EQ(at("layers/layer1/attention/body/qkv/inner/q_proj/weight", 1 * 4 + 2), 44 + 2 * 4 + 1);
  EXPECT_EQ(at("layers/layer0/attention/body/qkv/inner/k_proj/weight", 3 * 2 + 1), 60 + 1 * 4 + 3);
  EXPECT_EQ(at("layers/layer0/attention/body/qkv/inner/v_proj/weight", 0), 76);
  EXPECT_EQ(at("layers/layer1/attention/body/output/weight", 5),
            92 + 16 + 5);  // already [outputs, heads, head dim]
  EXPECT_EQ(at("layers/layer0/feed_forward/norm/scale", 3), 124 + 3);
  EXPECT_EQ(at("layers/layer0/feed_forward/body/gate/weight", 2 * 3 + 1), 132 + 1 * 4 + 2);
  EXPECT_EQ(at("layers/layer0/feed_forward/body/down/weight", 2 * 4 + 1), 156 + 1 * 3 + 2);
  EXPECT_EQ(at("layers/layer0/feed_forward/body/up/weight", 0), 180);
  EXPECT_EQ(at("output_norm/scale", 0), 204);
}

TEST_F(Llama2c, NegativeVocabularyBringsAClassifier) {
  const ImportedModel model = read(file_of(header(-5), kNumFloats + 20));
  EXPECT_EQ(model.vocab_size, 5);
  EXPECT_EQ(model.parameters.at("decoder/lm_head/weight").shape(), (Shape{5, 4}));
  EXPECT_EQ(model.parameters.at("decoder/lm_head/weight").at(0), 220);  // after 12 position floats
  EXPECT_TRUE(
      Child<Model>(model.model).build({}, {})->param_specs().contains("decoder/lm_head/weight"));
}

TEST_F(Llama2c, SizesMustFitTheHeader) {
  const std::string whole = file_of(header(), kNumFloats);
  EXPECT_THAT(message(whole.substr(0, 27)),
              HasSubstr("model.bin: offset 27: expected a llama2.c header of 28 bytes, got 27"));
  EXPECT_THAT(
      message(whole.substr(0, whole.size() - 1)),
      HasSubstr("offset 907: expected 908 bytes in all for the sizes in the header, got 907"));
  EXPECT_THAT(
      message(whole + "x"),
      HasSubstr("offset 908: expected 908 bytes in all for the sizes in the header, got 909"));
  EXPECT_THAT(message(file_of(header(-5), kNumFloats)), HasSubstr("cut off"));
}

TEST_F(Llama2c, ImpossibleHeadersAreRefused) {
  const auto with = [&](size_t field, int32_t value) {
    std::vector<int32_t> h = header();
    h[field] = value;
    return message(file_of(h, kNumFloats));
  };
  EXPECT_THAT(with(0, 0),
              HasSubstr("offset 0: expected a model dim of 1 to 1048576 in the header, got 0"));
  EXPECT_THAT(with(0, 2147483647), HasSubstr("offset 0: expected a model dim"));
  EXPECT_THAT(with(1, -1), HasSubstr("offset 4: expected a hidden dim"));
  EXPECT_THAT(with(2, 1 << 30), HasSubstr("offset 8: expected a number of layers"));
  EXPECT_THAT(with(3, 3),
              HasSubstr("offset 12: expected heads of an even size, got model dim 4 and 3 heads"));
  EXPECT_THAT(with(3, 4), HasSubstr("offset 12: expected heads of an even size"));
  EXPECT_THAT(with(4, 0), HasSubstr("offset 16: expected a number of key/value heads"));
  EXPECT_THAT(with(5, 0), HasSubstr("offset 20: expected a vocabulary"));
  EXPECT_THAT(with(5, std::numeric_limits<int32_t>::min()),
              HasSubstr("offset 20: expected a vocabulary"));
  EXPECT_THAT(with(6, -6), HasSubstr("offset 24: expected a longest text"));
}

TEST_F(Llama2c, MissingFilesAndFoldersAreDataErrors) {
  EXPECT_THROW(read_llama2c(dir_ / "none.bin"), DataError);
  EXPECT_THROW(read_llama2c(dir_.path()), DataError);
  EXPECT_THAT(message(""), HasSubstr("got an empty file"));
}

}  // namespace
}  // namespace axle
