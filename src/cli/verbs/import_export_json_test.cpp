// `import --json` and `export --json`: what was written, for programs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using Json = nlohmann::json;

Json document_of(const Arguments& arguments) {
  const Ran ran = run_axle(joined(arguments, {"--json"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  return Json::parse(ran.out, nullptr, false);
}

TEST(ImportExportJson, SaysWhatWasWritten) {
  const TempDir dir;
  const std::string adapted = reference_file("peft/llama_saved");
  EXPECT_EQ(document_of({"import", adapted, "--out", dir / "import"}),
            Json({{"dir", dir / "import"},
                  {"parameters", 5328},
                  {"vocab_size", 40},
                  {"max_seq_len", 32},
                  {"has_tokenizer", false},
                  {"left_out", 0},
                  {"special_ids", ""},
                  {"chat_template", ""}}));
  EXPECT_EQ(document_of({"export", dir / "import", "--out", dir / "hf", "--dtype", "bf16"}),
            Json({{"path", dir / "hf"},
                  {"family", "llama"},
                  {"parameters", 5200},
                  {"dtype", "bf16"},
                  {"files", 1},
                  {"merged_adapters", 1},
                  {"has_tokenizer", false}}));
  EXPECT_EQ(document_of({"export", dir / "import", "--out", dir / "x.gguf", "--format", "gguf"})
                .at("path"),
            dir / "x.gguf");
  EXPECT_EQ(document_of({"export", dir / "import", "--out", dir / "peft", "--format", "peft"}),
            Json({{"path", dir / "peft"},
                  {"family", "llama"},
                  {"parameters", 1488},
                  {"modules", 2},
                  {"kept_whole", 7}}));
}

}  // namespace
}  // namespace axle
