#include "inspect/eval_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/document/serialize.h"
#include "data/token_files/token_input.h"
#include "io/file.h"
#include "recipes/recipe.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// The edits of an evaluation are of the sources that its own --data name.
TEST(ResolveEvaluation, EditsReachTheSourcesOfAMixture) {
  const TempDir dir;
  replace_file(dir / "a.jsonl", "{\"body\":\"text\"}\n");
  replace_file(dir / "b.txt", "text");
  const ModelConfig run{to_json(recipe("quickstart")), "config.yaml"};
  const Resolved out =
      resolve_evaluation(run, {(dir / "a.jsonl") + "=0.5", {(dir / "b.txt") + "=0.5"}},
                         {SetField{"input.sources.a.field", "body"}});
  const auto* const input = out.config.input.get_if<TokenInput>();
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(input->split, Split::kAll);
  EXPECT_EQ(input->sources.size(), 2u);
  EXPECT_EQ(*input->sources.at("a").path, dir / "a.jsonl");
  EXPECT_EQ(input->sources.at("a").field, "body");
}

}  // namespace
}  // namespace axle
