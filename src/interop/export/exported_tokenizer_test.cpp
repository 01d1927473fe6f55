#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/tokenizers/open_tokenizer.h"
#include "interop/export/hugging_face_export.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* kWords =
    R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"},
        "added_tokens": [{"id": 2, "content": "<end>", "special": true}]})";
constexpr const char* kConfig = R"({"eos_token": "</s>", "chat_template": "{{ 1 }}"})";

class ExportedTokenizer : public ::testing::Test {
 protected:
  std::map<std::string, std::string> exported(const std::string& name, const std::string& bytes) {
    const TempDir dir;
    replace_file(dir / name, bytes);
    replace_file(dir / "tokenizer_config.json", kConfig);
    replace_file(dir / "note.txt", "of the user");
    return exported_tokenizer(tokenizer_in_file(dir / name, "--tokenizer"));
  }
};

TEST_F(ExportedTokenizer, UsesTheStandardNameAndKeepsAdjacentFiles) {
  for (const char* name : {"tokenizer.json", "tk.json", "words"}) {
    EXPECT_THAT(exported(name, kWords),
                ElementsAre(Pair("tokenizer.json", kWords), Pair("tokenizer_config.json", kConfig)))
        << name;
  }
  const std::string pieces = trained_bpe();
  for (const char* name : {"tokenizer.model", "my.model"}) {
    EXPECT_THAT(exported(name, pieces), ElementsAre(Pair("tokenizer.model", pieces),
                                                    Pair("tokenizer_config.json", kConfig)))
        << name;
  }
}

TEST_F(ExportedTokenizer, ReplacesTheChatTemplateOnRequest) {
  const TempDir dir;
  replace_file(dir / "tokenizer.json", kWords);
  const auto tokenizer = tokenizer_in_file(dir / "tokenizer.json", "--tokenizer");
  EXPECT_THAT(
      exported_tokenizer(tokenizer, "{{ 2 }}"),
      ElementsAre(Pair("tokenizer.json", kWords),
                  Pair("tokenizer_config.json", "{\n  \"chat_template\": \"{{ 2 }}\"\n}\n")));
  replace_file(dir / "tokenizer_config.json", kConfig);
  replace_file(dir / "chat_template.jinja", "{{ 3 }}");
  const std::string config = "{\n  \"eos_token\": \"</s>\",\n  \"chat_template\": \"{{ 2 }}\"\n}\n";
  EXPECT_THAT(exported_tokenizer(tokenizer, "{{ 2 }}"),
              ElementsAre(Pair("chat_template.jinja", "{{ 2 }}"), Pair("tokenizer.json", kWords),
                          Pair("tokenizer_config.json", config)));
}

}  // namespace
}  // namespace axle
