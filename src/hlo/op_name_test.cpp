#include "hlo/op_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace axle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(OpName, IsLayerAndOp) {
  EXPECT_THAT(places_of("model/decoder/emb/dot_general"),
              ElementsAre(OpPlace{"model/decoder/emb", "dot_general"}));
  EXPECT_THAT(places_of("backward/model/scan"), ElementsAre(OpPlace{"model", "scan", true}));
  EXPECT_THAT(places_of("dot"), ElementsAre(OpPlace{"", "dot"}));
  EXPECT_THAT(places_of(""), IsEmpty());
}

TEST(OpName, MergedInstructionsHaveSeveral) {
  EXPECT_THAT(places_of("model/layer/(gate/dot:up/dot)"),
              ElementsAre(OpPlace{"model/layer/gate", "dot"}, OpPlace{"model/layer/up", "dot"}));
  EXPECT_THAT(
      places_of("(backward/a/(b:c)/add:d/mul:d/mul)"),
      ElementsAre(OpPlace{"a/b", "add", true}, OpPlace{"a/c", "add", true}, OpPlace{"d", "mul"}));
}

TEST(OpName, OneInstructionMayHaveSeveral) {
  EXPECT_THAT(
      places_of("a/(b/add:c/reshape;backward/d/scan)"),
      ElementsAre(OpPlace{"a/b", "add"}, OpPlace{"a/c", "reshape"}, OpPlace{"d", "scan", true}));
}

TEST(OpName, ParenthesesWithoutColonBelongToNames) {
  EXPECT_THAT(places_of("jit(step)/layer/add"), ElementsAre(OpPlace{"jit(step)/layer", "add"}));
  EXPECT_THAT(places_of("jit(step)/(a:b)/add"), SizeIs(2));
  EXPECT_THAT(places_of("(a:b/add"), ElementsAre(OpPlace{"(a:b", "add"}));
}

TEST(OpName, ManyCombinationsAreCut) {
  std::string name;
  for (int i = 0; i < 40; ++i) name += "(a:b)";
  EXPECT_THAT(places_of(name), SizeIs(256));
}

TEST(OpName, TextsNameEveryPlaceOnce) {
  const auto places = places_of("model/(dec/(gate/dot:up/dot):emb/gather)");
  EXPECT_EQ(layer_text(places), "model/{dec/gate, dec/up, emb}");
  EXPECT_EQ(op_text(places), "dot + gather");
  EXPECT_EQ(layer_text(places_of("model/(gather:head/dot)")), "model/{., head}");
  EXPECT_EQ(layer_text(places_of("a/b/(add:mul)")), "a/b");
  EXPECT_EQ(layer_text({}), "");
  // '#', '-' and '.' come before '/' in ASCII order.
  EXPECT_EQ(layer_text(places_of("m/(a/add:a-b/c/mul:a/c/dot)")), "m/{a, a-b/c, a/c}");
  EXPECT_EQ(layer_text(places_of("(m/add:m.1/add:m/a/add)")), "{m, m.1, m/a}");
  EXPECT_EQ(layer_text(places_of("(convert.95:a/b/add)")), "a/b");
  EXPECT_EQ(op_text(places_of("(convert.95:a/b/add)")), "add");
  EXPECT_EQ(op_text(places_of("convert.95")), "convert.95");
}

}  // namespace
}  // namespace axle
