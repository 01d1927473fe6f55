#include <gmock/gmock.h>

#include "cli/arguments/recipe_arguments.h"

namespace axle::cli {
namespace {

TEST(ConfigChanges, AreOneLineEach) {
  EXPECT_EQ(to_text(ConfigChanges{}), "no differences\n");
  const ConfigChanges changes{{{.path = "seed", .before = "0", .after = "1"},
                               {.path = "evalers['a']", .before = "none", .after = {}},
                               {.path = "mesh", .before = {}, .after = "data=2"}}};
  EXPECT_EQ(to_text(changes),
            "seed: 0 -> 1\n"
            "evalers['a']: none (gone)\n"
            "mesh: data=2 (new)\n");
  EXPECT_EQ(to_json(changes).dump(), R"({"changes":{"seed":{"before":"0","after":"1"},)"
                                     R"("evalers['a']":{"before":"none","after":null},)"
                                     R"("mesh":{"before":null,"after":"data=2"}}})");
}

}  // namespace
}  // namespace axle::cli
