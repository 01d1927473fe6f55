#include "hlo/op_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(OpName, IsLayerAndOp) {
  EXPECT_THAT(op_locations("model/decoder/emb/dot_general"),
              ElementsAre(OpLocation{"model/decoder/emb", "dot_general"}));
  EXPECT_THAT(op_locations("backward/model/scan"), ElementsAre(OpLocation{"model", "scan", true}));
  EXPECT_THAT(op_locations("dot"), ElementsAre(OpLocation{"", "dot"}));
  EXPECT_THAT(op_locations(""), IsEmpty());
}

TEST(OpName, MergedInstructionsHaveSeveralLocations) {
  EXPECT_THAT(
      op_locations("model/layer/(gate/dot:up/dot)"),
      ElementsAre(OpLocation{"model/layer/gate", "dot"}, OpLocation{"model/layer/up", "dot"}));
  EXPECT_THAT(op_locations("(backward/a/(b:c)/add:d/mul:d/mul)"),
              ElementsAre(OpLocation{"a/b", "add", true}, OpLocation{"a/c", "add", true},
                          OpLocation{"d", "mul"}));
}

TEST(OpName, InstructionMayHaveSeveralLocations) {
  EXPECT_THAT(op_locations("a/(b/add:c/reshape;backward/d/scan)"),
              ElementsAre(OpLocation{"a/b", "add"}, OpLocation{"a/c", "reshape"},
                          OpLocation{"d", "scan", true}));
}

TEST(OpName, ParenthesesWithoutColonBelongToNames) {
  EXPECT_THAT(op_locations("jit(step)/layer/add"),
              ElementsAre(OpLocation{"jit(step)/layer", "add"}));
  EXPECT_THAT(op_locations("jit(step)/(a:b)/add"), SizeIs(2));
  EXPECT_THAT(op_locations("(a:b/add"), ElementsAre(OpLocation{"(a:b", "add"}));
}

TEST(OpName, ManyCombinationsAreCut) {
  std::string name;
  for (int i = 0; i < 40; ++i) name += "(a:b)";
  EXPECT_THAT(op_locations(name), SizeIs(256));
}

TEST(OpName, TextsNameEachLayerOnce) {
  const auto locations = op_locations("model/(dec/(gate/dot:up/dot):emb/gather)");
  EXPECT_EQ(layer_text(locations), "model/{dec/gate, dec/up, emb}");
  EXPECT_EQ(op_text(locations), "dot + gather");
  EXPECT_EQ(layer_text(op_locations("model/(gather:head/dot)")), "model/{., head}");
  EXPECT_EQ(layer_text(op_locations("a/b/(add:mul)")), "a/b");
  EXPECT_EQ(layer_text({}), "");
  // '#', '-' and '.' come before '/' in ASCII order.
  EXPECT_EQ(layer_text(op_locations("m/(a/add:a-b/c/mul:a/c/dot)")), "m/{a, a-b/c, a/c}");
  EXPECT_EQ(layer_text(op_locations("(m/add:m.1/add:m/a/add)")), "{m, m.1, m/a}");
  EXPECT_EQ(layer_text(op_locations("(convert.95:a/b/add)")), "a/b");
  EXPECT_EQ(op_text(op_locations("(convert.95:a/b/add)")), "add");
  EXPECT_EQ(op_text(op_locations("convert.95")), "convert.95");
}

}  // namespace
}  // namespace axle
