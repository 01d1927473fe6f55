#include "base/text/text.h"

#include <gtest/gtest.h>

namespace axle {
namespace {

TEST(Text, EditDistanceCountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("layrs", "layers"), 1);
  EXPECT_EQ(edit_distance("nrom", "norm"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Text, SuggestNamesTheNearest) {
  const std::vector<std::string> names = {"emb", "layers", "output_norm", "fuji-7B-v1",
                                          "fuji-7B-v2"};
  EXPECT_EQ(suggest("layrs", names), "; did you mean 'layers'?");
  EXPECT_EQ(suggest("LAYERS", names), "; did you mean 'layers'?");
  EXPECT_EQ(suggest("fuji-7B", names), "; did you mean 'fuji-7B-v1' or 'fuji-7B-v2'?");
  EXPECT_EQ(suggest("fuji-7B-v3", names), "; did you mean 'fuji-7B-v1' or 'fuji-7B-v2'?");
  EXPECT_EQ(suggest("zzz", names), "");
  EXPECT_EQ(suggest("layers", {}), "");
}

TEST(Text, GlobOnDottedPaths) {
  EXPECT_TRUE(glob_match("**", ""));
  EXPECT_TRUE(glob_match("**.a.**.b", "a.a.b.a.b"));
  EXPECT_FALSE(glob_match("**.a.**.b", "b.a"));
  EXPECT_TRUE(glob_match("**", "a.b.c"));
  EXPECT_TRUE(glob_match("model.**", "model"));
  EXPECT_TRUE(glob_match("model.**.norm", "model.norm"));
  EXPECT_TRUE(glob_match("model.**.norm", "model.a.b.norm"));
  EXPECT_TRUE(glob_match("model.*.norm", "model.a.norm"));
  EXPECT_FALSE(glob_match("model.*.norm", "model.a.b.norm"));
  EXPECT_FALSE(glob_match("model.*.norm", "model.norm"));
  EXPECT_TRUE(glob_match("*.l*r[*].norm", "m.layer[12].norm"));
  EXPECT_FALSE(glob_match("model", "models"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("heads['b.c'].*", "heads['b.c'].eps"));
  EXPECT_FALSE(glob_match("*.*", "heads['b.c']"));
}

TEST(Text, GlobOfLongPatternsEnds) {
  std::string stars, names;
  for (int i = 0; i < 100'000; ++i) stars += "**.", names += "a.";
  EXPECT_TRUE(glob_match(stars + "**", "a.b"));
  EXPECT_FALSE(glob_match(stars + "c", "a.b"));
  EXPECT_TRUE(glob_match(names + "a", names + "a"));
  EXPECT_FALSE(glob_match("**.a.**.a.**.a.**.a.**.a.**.b", names + "c"));
}

TEST(Text, NaturalOrderComparesNumbersByValue) {
  std::vector<std::string> names = {"out10", "out2", "b/out1", "a/10/x", "a/9/y", "out", "out02"};
  std::ranges::sort(names, natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"a/9/y", "a/10/x", "b/out1", "out", "out02", "out2",
                                             "out10"}));
  EXPECT_FALSE(natural_less("a1", "a1"));
  EXPECT_TRUE(natural_less("9", "123456789012345678901234567890"));
  EXPECT_TRUE(natural_less("a", "a0"));
  EXPECT_TRUE(natural_less("10", "a"));
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

}  // namespace
}  // namespace axle
