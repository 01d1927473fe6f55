// Real text through a real vocabulary: what the batches hold is the text.

#include <gtest/gtest.h>

#include "data/llama2c_tokenizer.h"
#include "data/text_input.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

const std::string kData = source_file("../shared/data/").string();

TEST(InputParity, RowsInOrderDecodeToTheText) {
  if (!path_exists(kData)) GTEST_SKIP() << "no ../shared/data beside the source";
  const std::string text = read_file(kData + "text/tinyshakespeare.txt");
  const Llama2cTokenizer::Config vocabulary{.path = kData + "stories260K/tok512.bin"};
  const TextInput::Config cfg{
      .source = TextSource::Config{.path = kData + "text/tinyshakespeare.txt"},
      .tokenizer = vocabulary,
      .seq_len = 256,
      .batch_size = 16,
      .shuffle = Shuffle::kNone,
      .epochs = 1};
  const auto input = Child<Input>(cfg).build({.vocab_size = 512, .seed = 0}, {.path = "input"});
  std::vector<int32_t> labels;
  int64_t num_bytes = 0;
  while (const auto batch = input->next()) {
    for (const int32_t label : batch->tensors.at("target_labels").values<int32_t>()) {
      if (label != kIgnoredLabel) labels.push_back(label);
    }
    num_bytes += batch->num_target_bytes;
  }
  const auto tokenizer = Child<Tokenizer>(vocabulary).build({}, {});
  EXPECT_EQ(tokenizer->decode(labels), text);
  EXPECT_EQ(num_bytes, static_cast<int64_t>(text.size()) + 1);  // the space put before the text
  EXPECT_EQ(input->facts().num_bytes, static_cast<int64_t>(text.size()));
  EXPECT_NEAR(input->facts().byte_entropy_bits, 4.779353, 1e-6);
}

}  // namespace
}  // namespace axle
