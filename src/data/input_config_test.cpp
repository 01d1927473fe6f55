// Inputs as parts of a config tree: fields set from the command line, whole inputs replaced.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/missing.h"
#include "config/register.h"
#include "config/set.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/tokenizers/llama2c_tokenizer.h"

namespace axle {

struct InputHolder {
  Child<Input> input = TextInput::Config{.seq_len = 64, .batch_size = 4};
  AXLE_CONFIG(InputHolder, input)
};
AXLE_REGISTER(InputHolder)

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(InputConfig, EveryFieldIsSetByItsPath) {
  InputHolder root;
  set(root, "input.source.path", "corpus");
  set(root, "input.source.unit", "paragraph");
  set(root, "input.source.on_error", "skip");
  set(root, "input.split", "held_out");
  set(root, "input.shuffle", "none");
  set(root, "input.epochs", "1");
  set(root, "input.tokenizer", "Llama2cTokenizer");
  const auto& input = *root.input.get_if<TextInput>();
  const auto& source = *input.source.get_if<TextSource>();
  EXPECT_EQ(source.path.get(), "corpus");
  EXPECT_EQ(source.unit, DocumentUnit::kParagraph);
  EXPECT_EQ(source.on_error, OnError::kSkip);
  EXPECT_EQ(input.split, Split::kHeldOut);
  EXPECT_EQ(input.shuffle, Shuffle::kNone);
  EXPECT_EQ(input.epochs, 1);
  EXPECT_NE(input.tokenizer.get_if<Llama2cTokenizer>(), nullptr);
  EXPECT_THAT([&] { set(root, "input.split", "test"); },
              ThrowsMessage<ConfigError>(HasSubstr("expected all, train or held_out")));
}

TEST(InputConfig, MissingRequiredFieldsAreListed) {
  InputHolder root{.input = TextInput::Config{.tokenizer = Llama2cTokenizer::Config{}}};
  EXPECT_THAT(missing(root), ElementsAre("input.source.path", "input.tokenizer.path",
                                         "input.seq_len", "input.batch_size"));
}

TEST(InputConfig, SyntheticDataKeepTheSizes) {
  InputHolder root;
  replace_config<TextInput>(root, SyntheticInput::Config{});
  EXPECT_TRUE(missing(root).empty());
  const auto input = root.input.build({.vocab_size = 100, .seed = 0}, {.path = "input"});
  EXPECT_EQ(input->element_spec().at("input_ids").dims, (Shape{4, 64}));
}

}  // namespace
}  // namespace axle
