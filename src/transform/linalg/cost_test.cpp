// The floating-point operations of decompositions and sorts: pinned numbers, and for composites
// those of the ops that they become.
#include <gtest/gtest.h>

#include <map>

#include "ir/hlo_builder.h"
#include "ir/op_rules.h"
#include "ops/movement/movement.h"
#include "transform/bodies.h"
#include "transform/linalg/linalg.h"
#include "transform/trace.h"

namespace axle {
namespace {

using Decomposition = std::function<Values(const Values&)>;

Values cholesky_of(const Values& v) { return {cholesky(v[0])}; }
Values solved(const Values& v) { return {triangular_solve(v[0], v[1])}; }
Values qr_of(const Values& v) { return {qr(v[0]).first}; }
Values eigh_of(const Values& v) { return {eigh(v[0]).first}; }

Type f32(Shape dims) { return {DType::kF32, std::move(dims)}; }

// Traces fn and calls use(op) for its op of this name.
template <class F>
double of_op(const Decomposition& fn, const std::vector<Type>& types, std::string_view name,
             F use) {
  const auto region = trace(fn, types);
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() == name) return use(*op);
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}
double flops(const Decomposition& fn, const std::vector<Type>& types, std::string_view name) {
  return of_op(fn, types, name, [](const OpNode& op) { return op.rules->row().cost.flops(op); });
}

TEST(LinalgCost, OneMatrixHasTheKnownCosts) {
  EXPECT_EQ(flops(cholesky_of, {f32({4, 4})}, "cholesky"), 128);
  EXPECT_EQ(flops(cholesky_of, {f32({10, 10})}, "cholesky"), 2000);
  EXPECT_EQ(flops(solved, {f32({4, 4}), f32({4, 3})}, "triangular_solve"), 96);
  EXPECT_EQ(flops(solved, {f32({10, 10}), f32({10, 1})}, "triangular_solve"), 200);
  EXPECT_EQ(flops(qr_of, {f32({4, 3})}, "qr"), 288);
  EXPECT_EQ(flops(qr_of, {f32({10, 10})}, "qr"), 8000);
  EXPECT_EQ(flops(eigh_of, {f32({4, 4})}, "eigh"), 6912);
  EXPECT_EQ(flops(eigh_of, {f32({10, 10})}, "eigh"), 108000);
}

TEST(LinalgCost, ABatchCostsWhatItsMatricesCost) {
  EXPECT_EQ(flops(cholesky_of, {f32({2, 3, 4, 4})}, "cholesky"), 6 * 128);
  EXPECT_EQ(flops(solved, {f32({5, 4, 4}), f32({5, 4, 3})}, "triangular_solve"), 5 * 96);
  EXPECT_EQ(flops(qr_of, {f32({5, 4, 3})}, "qr"), 5 * 288);
  EXPECT_EQ(flops(eigh_of, {f32({5, 4, 4})}, "eigh"), 5 * 6912);
}

// Of the lines of the axis that is sorted, for each key.
TEST(LinalgCost, ASortCountsItsComparisons) {
  const auto sorted = [](int64_t axis) {
    return [axis](const Values& v) { return Values{sort(v[0], axis)}; };
  };
  EXPECT_EQ(flops(sorted(0), {f32({8})}, "sort"), 24);
  EXPECT_EQ(flops(sorted(1), {f32({3, 1024})}, "sort"), 30720);
  EXPECT_EQ(flops(sorted(0), {f32({4, 1024})}, "sort"), 8192);
  const auto by_two = [](const Values& v) { return sort_key_val(v, 0, 2); };
  EXPECT_EQ(flops(by_two, {f32({8}), f32({8}), f32({8})}, "sort"), 48);
  const auto largest = [](const Values& v) { return Values{top_k(v[0], 2).first}; };
  EXPECT_EQ(flops(largest, {f32({3, 16})}, "top_k"), 192);
  EXPECT_EQ(flops(largest, {f32({64})}, "top_k"), 384);
}

double flops_of_all(const Region& region) {
  double out = 0;
  for (const OpNode* op : region.ops()) {
    if (op->regions.empty()) out += op->rules->row().cost.flops(*op);
    const std::vector<double> trips = counted_trips(*op);
    for (size_t i = 0; i < trips.size(); ++i) out += trips[i] * flops_of_all(*op->regions[i]);
  }
  return out;
}

// Counts the regions that an op inlines when it is lowered; writes nothing.
class Counter : public HloBuilder {
 public:
  HloValues inline_region(const Region& region, const HloValues&) override {
    flops += flops_of_all(region);
    return of(region.results());
  }
  static HloValues of(const Values& values) {
    HloValues out;
    for (const Tensor& t : values) out.push_back({"", t.type()});
    return out;
  }
  double flops = 0;

  HloValues op(std::string_view name, const HloValues&, const std::vector<Type>&, std::string_view,
               const std::vector<HloRegion>&) override {
    fail(name);
  }
  HloValue splat(const Type&, Scalar) override { fail("a splat"); }
  HloValue constant(const HostTensor&) override { fail("a constant"); }
  HloValues call(const std::string& name, const HloValues&, const std::vector<Type>&,
                 const std::function<HloValues(const HloValues&)>&) override {
    fail(name);
  }
  HloValue sharding_constraint(const HloValue&, const PartitionSpec&) override { fail("sharding"); }
  HloValue place(const HloValue&, std::string_view) override { fail("place"); }
  const Mesh& mesh() const override { fail("a mesh"); }
  const LoweringTarget& target() override { fail("a target"); }
  void record(LoweringChoice) override {}
  std::vector<MeshAxis> automatic_axes() const override { return {}; }
  int64_t next_channel() override { return 0; }
  HloValues manual_computation(const HloValues&, const std::vector<PartitionSpec>&,
                               const std::vector<PartitionSpec>&, const std::vector<std::string>&,
                               const std::vector<Type>&, const std::vector<Type>&,
                               const std::function<HloValues(const HloValues&)>&) override {
    fail("manual");
  }

 private:
  [[noreturn]] static void fail(std::string_view what) {
    throw std::logic_error("expected inlined regions alone, got " + std::string(what));
  }
};

// The formulas leave out terms of lower order, which are below 10 % for n = 64.
TEST(LinalgCost, ACompositeCostsWhatItsOpsCost) {
  const std::map<std::string, std::pair<Decomposition, std::vector<Type>>> composites = {
      {"cholesky", {cholesky_of, {f32({64, 64})}}},
      {"triangular_solve", {solved, {f32({64, 64}), f32({64, 64})}}},
      {"qr", {qr_of, {f32({96, 64})}}},
      {"eigh", {eigh_of, {f32({64, 64})}}}};
  for (const auto& [name, call] : composites) {
    const double counted = of_op(call.first, call.second, name, [](const OpNode& op) {
      Counter counter;
      op.rules->row().hlo.function()(op, counter, Counter::of(op.inputs));
      return counter.flops;
    });
    const double stated = flops(call.first, call.second, name);
    EXPECT_GT(counted, 0.98 * stated) << name;
    EXPECT_LT(counted, 1.1 * stated) << name;
  }
}

}  // namespace
}  // namespace axle
