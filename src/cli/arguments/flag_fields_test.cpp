#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/arguments/options.h"
#include "config/serialize.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/error_of.h"

namespace axle::cli {
namespace {

Lora::Config read(const std::string& text) {
  Child<Modifier> out = Lora::Config{};
  from_yaml(out, flow_text(flag_fields("--lora", text), Lora::Config::config_type()), "--lora");
  return *out.get_if<Lora>();
}

TEST(FlagFields, PatternsNeedNoQuotes) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(read("rank=4").rank, 4);
  EXPECT_EQ(read("at=**.attention.**,rank=4").at, "**.attention.**");
  EXPECT_EQ(read("rank=4,at=**.layers[0].**").at, "**.layers[0].**");
  EXPECT_EQ(read("at=\"**.up\"").at, "**.up");
  EXPECT_EQ(read("at='**.up'").at, "**.up");
  EXPECT_EQ(read("also_train=**.norm.scale").also_train, Texts{"**.norm.scale"});
  EXPECT_EQ(read("also_train=\"**.norm.scale\",alpha=2").also_train, Texts{"**.norm.scale"});
  EXPECT_EQ(read("also_train=[**.norm.scale, **.emb.*],alpha=2").also_train,
            (Texts{"**.norm.scale", "**.emb.*"}));
  EXPECT_EQ(read("also_train=[\"**.scale\",'**.emb.*']").also_train,
            (Texts{"**.scale", "**.emb.*"}));
  EXPECT_EQ(read("except=[**.layers[0].**,**.up]").except, (Texts{"**.layers[0].**", "**.up"}));
  EXPECT_EQ(read("except=[]").except, Texts{});
  EXPECT_EQ(read("dropout=1e-1").dropout, 0.1);
}

TEST(FlagFields, MistakesNameTheFlag) {
  for (const char* text : {"rank", "=3", "rank=3,"})
    EXPECT_TRUE(error_of<CLI::ValidationError>([&] {
                  flag_fields("--lora", text);
                }).starts_with("--lora: expected FIELD=VALUE, got '"))
        << text;
}

}  // namespace
}  // namespace axle::cli
