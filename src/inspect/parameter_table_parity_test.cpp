// Compares the parameters of published recipes with tables that another framework printed of the
// same recipes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/rename.h"
#include "inspect/parameter_table.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

class ParameterTableParity : public testing::TestWithParam<const char*> {};

TEST_P(ParameterTableParity, EveryColumnOfEveryParameter) {
  const std::string name = GetParam();
  const std::string path = reference_file("axlearn/params/" + name + ".json");
  const std::string names = source_file("testdata/eval_layer/fuji.names");
  const RenameRules rules(read_user_file(names), names);
  const Json expected = Json::parse(read_file(path));
  const Json got = to_json(parameter_table(recipe(name)));

  EXPECT_EQ(got["total_params"], expected["total_params"]);
  EXPECT_EQ(got["params"].size(), expected["params"].size());
  for (const auto& [theirs, row] : expected["params"].items()) {
    std::string ours = rules.parameter(theirs).value();
    // With fewer key/value heads than query heads, the projection is in a layer below.
    if (!got["params"].contains(ours)) ours.replace(ours.rfind('/'), 1, "/proj/");
    ASSERT_TRUE(got["params"].contains(ours)) << theirs << " -> " << ours;
    for (const auto& [column, value] : row.items())
      EXPECT_EQ(got["params"][ours][column], value) << ours << ' ' << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, ParameterTableParity,
                         testing::Values("fuji-test-v1", "fuji-golden-run-test-v1", "fuji-7B-v1",
                                         "fuji-7B-v2", "fuji-1B-v3"),
                         kNamedByText);

}  // namespace
}  // namespace axle
