// Damaged ranks, Tekken and GGUF tokenizers: an error that names the file, or a tokenizer that
// works.
#include <gmock/gmock.h>

#include "config/fields.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/ranks/ranks_files_test.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "io/file.h"
#include "io/gguf/save_gguf.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

class TokenizerFormatsFault : public ::testing::Test {
 protected:
  // Returns how many of the files were refused. The others must encode and decode text.
  int num_refused(const Child<Tokenizer>& config, const std::vector<std::string>& files) {
    int refused = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      FileWriter(path_).write(files[i]);
      refused += ends_well(
          [&] {
            const auto tokenizer = config.build({}, {});
            for (const char* text : {"", "the th 12 ", "caf\xc3\xa9 \xe7\x8c\xab", "\xff\xc3"}) {
              const auto ids = tokenizer->encode_with_special(text);
              for (const int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer->vocab_size());
              tokenizer->decode(tokenizer->framed(ids));
            }
          },
          {ExitCode::kData}, "damage " + std::to_string(i));
    }
    return refused;
  }
  TempDir dir_;
  std::string path_ = dir_ / "damaged";
};

TEST_F(TokenizerFormatsFault, Ranks) {
  const RanksTokenizer::Config config{.path = path_, .family = RanksFamily::kGpt2};
  EXPECT_GT(num_refused(config, mutants(ranks_file(), 400, 4096)), 100);
}

TEST_F(TokenizerFormatsFault, Tekken) {
  const TekkenTokenizer::Config config{.path = path_};
  EXPECT_GT(num_refused(config, mutants(tekken_file().dump(), 400, 4096)), 100);
  std::vector<std::string> files;
  nlohmann::ordered_json head = tekken_file();
  const nlohmann::ordered_json vocab = head["vocab"];
  head["vocab"] = nullptr;
  head["special_tokens"] = {{{"rank", 0}, {"token_str", "<s>"}}};
  const auto with_vocab = [&](nlohmann::ordered_json json) {
    if (json.is_object() && json["vocab"].is_null()) json["vocab"] = vocab;
    return json.dump();
  };
  for (const JsonMutant& mutant : json_mutants(head, with_vocab)) files.push_back(mutant.text);
  EXPECT_GT(num_refused(config, files), 100);
}

TEST_F(TokenizerFormatsFault, Gguf) {
  GgufMetadata metadata;
  metadata.set("tokenizer.ggml.model", "llama");
  metadata.set("tokenizer.ggml.tokens",
               std::vector<std::string>{"<unk>", "<s>", "t", "h", "e", "th", "the"});
  metadata.set("tokenizer.ggml.scores", std::vector<float>{0, 0, -3, -3, -3, -2, -1});
  metadata.set("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 1, 1, 1, 1, 4});
  metadata.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
  metadata.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  metadata.set("tokenizer.ggml.add_bos_token", true);
  save_gguf(path_, metadata, {});
  const GgufTokenizer::Config config{.path = path_};
  EXPECT_GT(num_refused(config, mutants(read_file(path_), 600, 600)), 200);
  metadata.set("tokenizer.ggml.model", "gpt2");
  metadata.set("tokenizer.ggml.merges", std::vector<std::string>{"t h", "th e"});
  save_gguf(path_, metadata, {});
  EXPECT_GT(num_refused(config, mutants(read_file(path_), 600, 600)), 200);
}

}  // namespace
}  // namespace axle
