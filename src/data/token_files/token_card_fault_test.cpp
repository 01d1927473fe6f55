// Damaged cards and progress files of token files: one clear line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/token_card.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "io/file.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

TEST(TokenCardFault, DamagedCardsAndProgress) {
  const TempDir dir;
  replace_file(dir / "a.txt", "text");
  replace_file(dir / "b.txt", "");
  TokenBuild build{.sources = {dir / "a.txt", dir / "b.txt"},
                   .tokenizer = ByteTokenizer::Config{},
                   .prefix = dir / "out"};
  build_token_file(build, {.should_stop = [] { return true; }});
  const std::string progress = dir / "out.part/progress.json";
  int refused = 0;
  for (const auto& [what, text] : json_mutants(read_json(read_file(progress)))) {
    FileWriter(progress).write(text);
    refused += ends_well([&] { read_progress(progress); }, {ExitCode::kData}, what);
  }
  remove_tree(dir / "out.part");
  build_token_file(build);
  for (const auto& [what, text] : json_mutants(read_json(read_file(dir / "out.json")))) {
    FileWriter(dir / "out.json").write(text);
    refused += ends_well([&] { read_token_card(dir / "out"); }, {ExitCode::kData}, what);
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace axle
