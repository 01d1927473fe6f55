// Compares the parameters of published recipes with tables that another framework printed of the
// same recipes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comparison/eval_layer_files.h"
#include "comparison/rename.h"
#include "inspect/parameter_table.h"
#include "io/file.h"
#include "recipes/recipe.h"
#include "testing/checkout.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

class ParameterTableParity : public ::testing::TestWithParam<const char*> {};

// Our layers stand under other names, and projections of queries and keys in layers of their own.
struct Place {
  const char *theirs, *ours;
};
constexpr Place kLayers[] = {{"transformer/repeat/layer/layer", "layers/groups/layer/layer"},
                             {"transformer/repeat/layer/", "layers/layer/"}};
constexpr Place kProjections[] = {{"qkv/inner/", "qkv/inner/proj/"},
                                  {"qkv/inner/", "qkv/inner/inner/proj/"},
                                  {"body/query_norm/", "body/qkv/inner/query_norm/"},
                                  {"body/key_norm/", "body/qkv/inner/key_norm/"}};

// Replaces the text at the path. Returns false if the path has none.
bool put(const Place& place, std::string& path) {
  const size_t at = path.find(place.theirs);
  if (at == std::string::npos) return false;
  path.replace(at, std::string_view(place.theirs).size(), place.ours);
  return true;
}

std::string our_path(std::string theirs, const RenameRules& rules, const Json& ours) {
  for (const Place& place : kLayers) {
    if (put(place, theirs)) break;
  }
  const std::string path = rules.parameter(theirs).value();
  if (ours.contains(path)) return path;
  for (const Place& place : kProjections) {
    std::string other = path;
    if (put(place, other) && ours.contains(other)) return other;
  }
  return path;
}

TEST_P(ParameterTableParity, EveryColumnOfEveryParameter) {
  const std::string name = GetParam();
  const std::string path = reference_file("axlearn/params/" + name + ".json");
  const std::string names = source_file("testdata/eval_layer/recipes.names");
  const RenameRules rules(read_user_file(names), names);
  const Json expected = Json::parse(read_file(path));
  const Json got = to_json(parameter_table(recipe(name)));

  EXPECT_EQ(got["total_params"], expected["total_params"]);
  EXPECT_EQ(got["params"].size(), expected["params"].size());
  for (const auto& [theirs, row] : expected["params"].items()) {
    const std::string ours = our_path(theirs, rules, got["params"]);
    ASSERT_TRUE(got["params"].contains(ours)) << theirs << " -> " << ours;
    for (const auto& [column, value] : row.items())
      EXPECT_EQ(got["params"][ours][column], value) << ours << ' ' << column;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, ParameterTableParity,
    ::testing::Values("fuji-test-v1", "fuji-test-v2", "fuji-test-v3", "fuji-golden-run-test-v1",
                      "fuji-1B-v3", "fuji-1B-v3-tiktoken", "fuji-3B-v3", "fuji-3B-v3-tiktoken",
                      "fuji-7B-v1", "fuji-7B-v2", "fuji-7B-v3", "fuji-8B-v3-tiktoken",
                      "fuji-70B-v1", "fuji-70B-v3", "fuji-70B-v3-tiktoken", "fuji-405B-v3",
                      "fuji-405B-v3-tiktoken", "gala-test", "gala-85M", "gala-302M", "gala-1B",
                      "gala-1B-hybridnorm-alibi", "gala-7B", "gala-7B-hybridnorm-alibi",
                      "gala-sigmoid-85M-4k-hybridnorm-alibi", "gala-sigmoid-1B-4k-hybridnorm-alibi",
                      "gala-sigmoid-7B-4k-hybridnorm-alibi", "honeycrisp-test", "honeycrisp-85M",
                      "honeycrisp-3B", "envy-test", "envy-Switch-Base", "envy-Switch-Large",
                      "envy-Switch-XXL", "gspmd-16B", "qwen3-30B-A3B"),
    kNamedByText);

}  // namespace
}  // namespace axle
