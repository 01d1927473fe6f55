// Passes verify a broken graph of every kind that it promises to find.
#include <gmock/gmock.h>

#include "ir/op_rules.h"
#include "ir/value_map.h"
#include "testing/error_without_lines.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::vector<Type> verify_like_first(const OpNode& op) { return {op.inputs[0].type()}; }
std::vector<Type> twice(const OpNode& op) { return {op.inputs[0].type(), op.inputs[0].type()}; }

const OpRules same_rules({.name = "test_same",
                          .infer = verify_like_first,
                          .eval = {},
                          .hlo = "test.same",
                          .cost = kNoFlops});
const OpRules pair_rules(
    {.name = "test_pair", .infer = twice, .eval = {}, .hlo = "test.pair", .cost = kNoFlops});

constexpr DType kF32 = DType::kF32;

// x -> (a, b) = pair(x) -> c = same(b), with a region y -> same(y) inside the op between them.
struct Graph {
  Graph() {
    const TraceScope scope(region);
    x = region.add_parameter({kF32, {2}});
    pair = region.append(pair_rules, {x}, {}, {});
    auto body = std::make_shared<Region>();
    inner_x = body->add_parameter({kF32, {2}});
    inner = body->append(same_rules, {inner_x}, {}, {});
    body->set_results({inner->result()});
    loop = region.append(same_rules, {pair->result(1)}, {}, {body});
    last = region.append(same_rules, {loop->result()}, {}, {});
    region.set_results({last->result()});
  }
  std::string fault() {
    return error_without_lines<InternalError>([&] { verify(region); });
  }
  Region region;
  Tensor x, inner_x;
  OpNode *pair, *inner, *loop, *last;
};

TEST(Verify, AcceptsAWholeGraph) { EXPECT_EQ(Graph().fault(), "no error"); }

TEST(Verify, OperandDefinedAfterItsUse) {
  Graph g;
  g.loop->inputs[0] = g.last->result();
  EXPECT_THAT(g.fault(),
              HasSubstr("test_same uses f32[2] of the top level (test_same) which is not "
                        "defined before it in its region"));
}

TEST(Verify, OperandThatIsItsOwnResult) {
  Graph g;
  g.last->inputs[0] = g.last->result();
  EXPECT_THAT(g.fault(), HasSubstr("not defined before it"));
}

TEST(Verify, MissingOperand) {
  Graph g;
  g.last->inputs[0] = Tensor();
  EXPECT_THAT(g.fault(), HasSubstr("test_same uses nothing which is not defined"));
}

TEST(Verify, OperandOfAnotherRegion) {
  Graph g, other;
  g.last->inputs[0] = other.x;
  EXPECT_THAT(g.fault(), HasSubstr("not defined before it"));
}

TEST(Verify, OperandOfARegionWithin) {
  Graph g;
  g.last->inputs[0] = g.inner->result();
  EXPECT_THAT(g.fault(), HasSubstr("not defined before it"));
}

TEST(Verify, RegionWithinThatIsNotClosed) {
  Graph g;
  g.inner->inputs[0] = g.x;
  EXPECT_THAT(g.fault(),
              HasSubstr("test_same uses f32[2] of the top level (parameter) which is not "
                        "defined before it in its region"));
}

TEST(Verify, ResultThatTheOpDoesNotHave) {
  Graph g;
  g.loop->inputs[0] = g.pair->result(2);
  EXPECT_THAT(g.fault(), HasSubstr("test_same uses result 2 of"));
}

TEST(Verify, TypesOtherThanInferred) {
  for (const Type& wrong : {Type{DType::kBF16, {2}}, Type{kF32, {3}}, Type{kF32, {2, 1}}}) {
    Graph g;
    g.last->outputs[0] = wrong;
    EXPECT_THAT(g.fault(), HasSubstr("types of test_same are not what it infers"))
        << to_text(wrong);
  }
  Graph g;
  g.pair->outputs.pop_back();
  EXPECT_THAT(g.fault(), HasSubstr("types of test_pair are not what it infers"));
  Graph within;
  within.inner->outputs[0] = {kF32, {5}};
  EXPECT_THAT(within.fault(), HasSubstr("types of test_same are not what it infers"));
}

TEST(Verify, ResultThatIsNotDefinedInTheRegion) {
  Graph g, other;
  // set_results itself would report a value of another region as a leak.
  const_cast<Values&>(g.region.results())[0] = other.last->result();
  EXPECT_THAT(g.fault(), HasSubstr("return uses f32[2] of the top level (test_same) which is not "
                                   "defined before it in its region"));
  Graph index;
  const_cast<Values&>(index.region.results())[0] = index.pair->result(7);
  EXPECT_THAT(index.fault(), HasSubstr("return uses result 7"));
}

// x, g -> a = same(x), b = same(g), c = same(b): a is the result, b and c are backward ops.
struct JointGraph {
  JointGraph() {
    const TraceScope scope(region);
    const Tensor x = region.add_parameter({kF32, {2}});
    const Tensor g = region.add_parameter({kF32, {2}}, "cotangent");
    a = region.append(same_rules, {x}, {}, {});
    const PhaseScope phase(Phase::kBackward);
    b = region.append(same_rules, {g}, {}, {});
    c = region.append(same_rules, {b->result()}, {}, {});
    region.set_results({a->result(), c->result()});
  }
  std::string fault() {
    return error_without_lines<InternalError>([&] { verify_phases(region, 1, 1); });
  }
  Region region;
  OpNode *a, *b, *c;
};

TEST(VerifyPhases, AcceptsAJointRegion) { EXPECT_EQ(JointGraph().fault(), "no error"); }

TEST(VerifyPhases, AForwardOpThatUsesABackwardValue) {
  JointGraph g;
  g.c->phase = Phase::kForward;
  EXPECT_THAT(g.fault(), HasSubstr("test_same is in the forward part and uses f32[2] of the top "
                                   "level (test_same), which is in the backward part"));
}

TEST(VerifyPhases, AForwardOpThatUsesACotangent) {
  JointGraph g;
  g.b->phase = Phase::kForward;
  EXPECT_THAT(g.fault(), HasSubstr("test_same is in the forward part and uses f32[2] of cotangent "
                                   "(parameter), which is in the backward part"));
}

TEST(VerifyPhases, ForwardResultThatIsComputedInTheBackwardPass) {
  JointGraph g;
  const_cast<Values&>(g.region.results())[0] = g.c->result();
  EXPECT_THAT(g.fault(), HasSubstr("return is in the forward part and uses"));
  g.a->phase = Phase::kBackward;
  const_cast<Values&>(g.region.results())[0] = g.a->result();
  EXPECT_THAT(g.fault(), HasSubstr("return is in the forward part and uses"));
}

}  // namespace
}  // namespace axle
