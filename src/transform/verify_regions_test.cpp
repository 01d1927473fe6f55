// Gives verify ops whose regions do not fit their operands, their attributes or each other.
#include <gmock/gmock.h>

#include <set>

#include "ir/value_map.h"
#include "testing/body_samples.h"
#include "testing/collective_samples.h"
#include "testing/error_without_lines.h"
#include "transform/shard_map/shard_map_op.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::OpSample;
using ::testing::StartsWith;

const Type kVerifyRegionsX{DType::kF32, {4}}, kRows{DType::kF32, {3, 4}}, kCount{DType::kI32, {}};

// Changes an op of a traced program that has this name.
using Change = std::function<void(Region& region, OpNode& op)>;

// Returns the first op of this name in the region itself; nullptr if there is none.
OpNode* find_op(const Region& region, std::string_view name) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == name) return const_cast<OpNode*>(op);  // to be broken
  }
  return nullptr;
}

// Returns what verify says about the changed program.
std::string fault(const TensorFunction& fn, const std::vector<Type>& types, std::string_view name,
                  const Change& change) {
  const auto region = trace(fn, types);
  change(*region, *find_op(*region, name));
  return error_without_lines<InternalError>([&] { verify(*region); });
}

// Replaces region i of an op by one that computes `change` of its results.
void change_results(OpNode& op, size_t i, const TensorFunction& change) {
  const Region& old = op.region(i);
  op.regions[i] = trace([&](const Values& p) { return change(inline_region(old, p)); },
                        types_of(old.parameters()));
}
Values as_bf16(Values v) {
  v[0] = astype(v[0], DType::kBF16);
  return v;
}
Values without_last(Values v) {
  v.pop_back();
  return v;
}

// A loop: a captured tensor, a carry, xs; the carry and ys.
Values verify_regions_loop(const Values& v) {
  const Tensor outer = v[0];
  const auto step = [&](const Values& c, const Values& x) {
    return ScanResult{{c[0] * outer}, {sin(x[0])}};
  };
  const ScanResult r = scan(step, {v[0]}, {v[1]}, 3);
  return {r.carry[0], r.ys[0]};
}
std::string scan_fault(const Change& change) {
  return fault(verify_regions_loop, {kVerifyRegionsX, kRows}, "scan", change);
}

TEST(VerifyRegions, Scan) {
  EXPECT_THAT(scan_fault([](Region& r, OpNode& op) {
                op.inputs[0] = r.add_parameter({DType::kBF16, {4}});
              }),
              AllOf(StartsWith("scan is not what its row takes: the top level: scan: "),
                    HasSubstr("expected f32[4] as argument 0 of region 0, got bf16[4]; operands: "
                              "bf16[4] of the top level (parameter), ")));
  EXPECT_THAT(scan_fault([](Region& r, OpNode& op) {
                op.inputs[0] = r.add_parameter({DType::kF32, {5}});
              }),
              HasSubstr("expected f32[4] as argument 0 of region 0, got f32[5]"));
  EXPECT_THAT(scan_fault([](Region& r, OpNode& op) {
                op.inputs[2] = r.add_parameter({DType::kF32, {2, 4}});
              }),
              HasSubstr("expected a leading dim of 3, got f32[2, 4] of the top level"));
  EXPECT_THAT(scan_fault([](Region& r, OpNode& op) {
                op.inputs[2] = r.add_parameter({DType::kF32, {3, 5}});
              }),
              HasSubstr("expected f32[4] as argument 2 of region 0, got f32[5]"));
  EXPECT_THAT(scan_fault([](Region&, OpNode& op) { op.inputs.pop_back(); }),
              HasSubstr("expected 3 arguments for region 0, got 2"));
  EXPECT_THAT(
      scan_fault([](Region&, OpNode& op) { change_results(op, 0, as_bf16); }),
      HasSubstr("expected a body that keeps the types of its carry, got others; '0': f32[4] "
                "became bf16[4] of"));
  EXPECT_THAT(
      scan_fault([](Region&, OpNode& op) {
        change_results(op, 0, [](const Values&) { return Values(); });
      }),
      HasSubstr("expected 1 consts and 1 carries, got 3 operands and a body with 0 results"));
}

TEST(VerifyRegions, StackedResults) {
  EXPECT_THAT(scan_fault([](Region&, OpNode& op) { op.outputs[1] = kVerifyRegionsX; }),
              HasSubstr("types of scan are not what it infers: expected f32[4], f32[3, 4], got "
                        "f32[4], f32[4]"));
  EXPECT_THAT(scan_fault([](Region&, OpNode& op) { op.outputs[1].dims[0] = 2; }),
              HasSubstr("expected f32[4], f32[3, 4], got f32[4], f32[2, 4]"));
  EXPECT_THAT(scan_fault([](Region&, OpNode& op) { change_results(op, 0, without_last); }),
              HasSubstr("expected f32[4], got f32[4], f32[3, 4]"));
}

TEST(VerifyRegions, Cond) {
  const auto cond_fault = [](const Change& change) {
    return fault(
        [](const Values& v) {
          const auto one = [](const Values& x) { return Values{sin(x[0]), x[0] * 2}; };
          const auto other = [](const Values& x) { return Values{x[0], cos(x[0])}; };
          return switch_case(v[1], {one, other}, {v[0]});
        },
        {kVerifyRegionsX, kCount}, "cond", change);
  };
  EXPECT_THAT(cond_fault([](Region&, OpNode& op) { op.inputs[0] = op.inputs[1]; }),
              HasSubstr("expected an i32 scalar as index, got f32[4]"));
  EXPECT_THAT(cond_fault([](Region& r, OpNode& op) {
                op.inputs[1] = r.add_parameter({DType::kF64, {4}});
              }),
              HasSubstr("expected f32[4] as argument 0 of region 0, got f64[4]"));
  EXPECT_THAT(cond_fault([](Region&, OpNode& op) { change_results(op, 1, as_bf16); }),
              HasSubstr("expected branches whose results have the same types, got a branch 1 that "
                        "differs from branch 0; '0': f32[4] is bf16[4] of"));
  EXPECT_THAT(cond_fault([](Region&, OpNode& op) { change_results(op, 1, without_last); }),
              HasSubstr("a branch 1 that differs from branch 0; '1': f32[4] is missing"));
  EXPECT_THAT(cond_fault([](Region&, OpNode& op) {
                op.regions[1] = trace(
                    [](const Values& v) {
                      return Values{v[0], v[0]};
                    },
                    {{DType::kF32, {7}}});
              }),
              HasSubstr("expected f32[7] as argument 0 of region 1, got f32[4]"));
  EXPECT_THAT(cond_fault([](Region&, OpNode& op) { op.regions.clear(); }),
              HasSubstr("expected an index and at least one branch"));
}

TEST(VerifyRegions, While) {
  const auto while_fault = [](const Change& change) {
    return fault(
        [](const Values& v) {
          const Tensor limit = v[1];
          return while_loop([&](const Values& c) { return c[0] < limit; },
                            [&](const Values& c) {
                              return Values{c[0] + limit, sin(c[1])};
                            },
                            {v[1], v[0]});
        },
        {kVerifyRegionsX, kCount}, "while", change);
  };
  EXPECT_THAT(while_fault([](Region& r, OpNode& op) {
                op.inputs[3] = r.add_parameter({DType::kF32, {5}});
              }),
              HasSubstr("expected f32[4] as argument 2 of region 0, got f32[5]"));
  EXPECT_THAT(while_fault([](Region& r, OpNode& op) {
                op.inputs[1] = r.add_parameter({DType::kI64, {}});
              }),
              HasSubstr("expected i32[] as argument 0 of region 1, got i64[]"));
  EXPECT_THAT(while_fault([](Region&, OpNode& op) { op.inputs.resize(1); }),
              HasSubstr("expected 2 consts, got 1 operands"));
  EXPECT_THAT(while_fault([](Region&, OpNode& op) {
                change_results(op, 0,
                               [](const Values& v) { return Values{astype(v[0], DType::kF32)}; });
              }),
              HasSubstr("expected a pred scalar as condition; operands: f32[]"));
  EXPECT_THAT(while_fault([](Region&, OpNode& op) { change_results(op, 1, as_bf16); }),
              HasSubstr("expected a body that keeps the types of its carry, got others; '0': i32[] "
                        "became bf16[] of"));
  EXPECT_THAT(while_fault([](Region&, OpNode& op) { change_results(op, 1, without_last); }),
              HasSubstr("'1': f32[4] is missing"));
}

TEST(VerifyRegions, CustomVjp) {
  const auto rule_fault = [](const Change& change) {
    return fault(
        [](const Values& v) {
          return custom_vjp({.name = "twice",
                             .forward =
                                 [](const Values& x) {
                                   return WithResiduals{{x[0] * 2}, x};
                                 },
                             .backward = [](const Values&, const Values& g) { return g; }},
                            {v[0]});
        },
        {kVerifyRegionsX}, "custom_vjp", change);
  };
  EXPECT_THAT(rule_fault([](Region&, OpNode& op) { change_results(op, 1, as_bf16); }),
              HasSubstr("expected a forward function of twice"));
  EXPECT_THAT(rule_fault([](Region&, OpNode& op) { op.regions.pop_back(); }),
              HasSubstr("expected 2 regions, got 1"));
}

TEST(VerifyRegions, ShardMap) {
  // Changes the attributes.
  const auto spec_fault = [](const std::function<void(ShardMapAttributes&)>& change) {
    return fault(
        [](const Values& v) {
          return shard_map(
              [](const Values& p) {
                return Values{p[0], psum(p[0], {"data"})};
              },
              v,
              {.mesh = {{{"data", 2}}}, .in_specs = {{{"data"}}}, .out_specs = {{{"data"}}, {}}});
        },
        {kVerifyRegionsX}, "shard_map",
        [&](Region&, OpNode& op) {
          auto a = op.attrs<ShardMapAttributes>();
          change(a);
          op.attributes = std::make_shared<const ShardMapAttributes>(std::move(a));
        });
  };
  using Attributes = ShardMapAttributes;
  EXPECT_THAT(spec_fault([](Attributes& a) { a.in_specs[0] = {{"rows"}}; }),
              HasSubstr("expected manual axes (data=2) in the spec of operand 0, got 'rows'"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.out_specs[1] = {{"rows"}}; }),
              HasSubstr("expected manual axes (data=2) in the spec of result 1, got 'rows'"));
  EXPECT_THAT(spec_fault([](Attributes& a) {
                a.in_specs[0] = {{{"data", "data"}}};
              }),
              HasSubstr("expected each mesh axis once, got 'data' twice"));
  EXPECT_THAT(spec_fault([](Attributes& a) {
                a.in_specs[0] = {{"data", kReplicated}};
              }),
              HasSubstr("expected mesh axes for at most 1 dims"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.axes[0].size = 3; }),
              HasSubstr("dim 0 must be divisible by its mesh axes, got 4 over data=3"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.in_specs[0] = {}; }),
              HasSubstr("expected f32[2] as argument 0 of region 0, got f32[4]"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.in_specs.clear(); }),
              HasSubstr("expected a spec for each of 1 operands and 2 results, got 0 and 2"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.out_specs.pop_back(); }),
              HasSubstr("expected a spec for each of 1 operands and 2 results, got 1 and 1"));
  EXPECT_THAT(spec_fault([](Attributes& a) { a.out_specs[0] = {}; }),
              HasSubstr("types of shard_map are not what it infers: expected f32[2], f32[2], got "
                        "f32[4], f32[2]"));
}

std::vector<OpSample> samples_with_regions() {
  std::vector<OpSample> out = testing::body_samples();
  const auto collective = testing::collectives()[0];
  out.push_back({"shard_map", {testing::samples::uniform({8, 4})}, collective.on_devices});
  return out;
}

// Whatever the op: a row with regions states what they take.
TEST(VerifyRegions, EveryRowWithRegionsChecksItsOperands) {
  std::set<std::string_view> seen;
  for (const OpSample& sample : samples_with_regions()) {
    SCOPED_TRACE(sample.op);
    std::vector<Type> types;
    for (const HostTensor& x : sample.inputs) types.push_back(x.type());
    const auto whole = trace(sample.fn, types);
    const OpNode* const original = find_op(*whole, sample.op);
    if (!original) continue;  // it is in the body of another op
    seen.insert(sample.op);
    const auto fault_of = [&](const Change& change) {
      return fault(sample.fn, types, sample.op, change);
    };
    const std::string name(sample.op);
    EXPECT_EQ(fault_of([](Region&, OpNode&) {}), "no error");
    for (size_t i = 0; i < original->inputs.size(); ++i) {
      const auto replaced = [&](const std::function<void(Type&)>& change) {
        return fault_of([&](Region& r, OpNode& op) {
          Type type = op.inputs[i].type();
          change(type);
          op.inputs[i] = r.add_parameter(type);
        });
      };
      const std::string start = name + " is not what its row takes: ";
      EXPECT_THAT(replaced([](Type& t) { t.dtype = DType::kU16; }), StartsWith(start)) << i;
      EXPECT_THAT(replaced([](Type& t) { t.dims.push_back(1); }), StartsWith(start)) << i;
    }
    EXPECT_THAT(fault_of([](Region&, OpNode& op) { op.inputs.pop_back(); }), StartsWith(name));
    EXPECT_THAT(fault_of([](Region&, OpNode& op) { op.inputs.push_back(op.inputs[0]); }),
                StartsWith(name));
    EXPECT_THAT(fault_of([](Region&, OpNode& op) { op.outputs.push_back(op.outputs[0]); }),
                HasSubstr("types of " + name + " are not what it infers"));
    EXPECT_THAT(fault_of([](Region&, OpNode& op) { op.regions.clear(); }), StartsWith(name));
    for (size_t i = 0; i < original->regions.size(); ++i) {
      EXPECT_THAT(fault_of([&](Region&, OpNode& op) { change_results(op, i, as_bf16); }),
                  HasSubstr(name))
          << i;
    }
  }
  for (const OpRules* rules : all_ops()) {
    // The pullback of a loop has no regions: it holds the loop in its attributes.
    if (!rules->row().linearize || rules->name() == "while_pullback") continue;
    EXPECT_TRUE(seen.contains(rules->name())) << rules->name();
  }
}

}  // namespace
}  // namespace axle
