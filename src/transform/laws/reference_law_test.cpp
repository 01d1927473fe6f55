// Law: each row of the registry evaluates to what its naive reference says, for its samples, their
// gradients and their batches, in the dtypes of the samples and in f64.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "testing/all_samples.h"
#include "testing/gradient_check.h"
#include "transform/laws/naive_test.h"
#include "transform/trace.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::Naive;
using testing::naive;
using testing::Naives;
using testing::OpSample;

void collect_names(const Region& region, std::set<std::string>& out) {
  for (const OpNode* op : region.ops()) {
    out.emplace(op->rules->name());
    for (const auto& inner : op->regions) collect_names(*inner, out);
  }
}

// The rows whose results are elements of their operands, unchanged.
bool is_exact(std::string_view op) {
  static const testing::References moving = [] {
    testing::References out;
    testing::add_movement_references(out);
    return out;
  }();
  return moving.contains(op) || op == "nextafter" || op == "gather" || op == "sort" ||
         op == "top_k" || op == "bitcast_convert" || op == "clamp";
}

// What an element may differ by, relative to the largest element of the result: the rounding of
// the dtype, several times where a row computes in several steps.
double tolerance(DType dtype) {
  switch (real_dtype(dtype)) {
    case DType::kF64:
      return 2e-12;
    case DType::kF32:
      return 2e-6;
    case DType::kF16:
      return 0x1p-9;
    case DType::kBF16:
      return 0x1p-6;
    case DType::kF8E4M3FN:
      return 0x1p-2;
    default:
      return 0x1p-1;
  }
}

// Gives each column of a batch of matrices the sign that makes its largest element positive.
void fix_signs(Naive& v) {
  const auto n = static_cast<size_t>(v.dim(-1));
  for (size_t first = 0; first < v.size(); first += n * n) {
    for (size_t j = 0; j < n; ++j) {
      size_t largest = first + j;
      for (size_t i = 0; i < n; ++i) {
        // A margin, so that rounding does not decide between equal magnitudes.
        if (std::abs(v.re[first + i * n + j]) > 1.001L * std::abs(v.re[largest]))
          largest = first + i * n + j;
      }
      if (v.re[largest] > 0) continue;
      for (size_t i = 0; i < n; ++i) v.re[first + i * n + j] *= -1;
    }
  }
}

// Returns the first difference, or an empty text.
std::string difference(const std::vector<long double>& actual,
                       const std::vector<long double>& expected, double relative, bool has_signs) {
  long double largest = 0;
  for (const long double e : expected) {
    if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const long double a = actual[i], e = expected[i];
    bool same = a == e;
    if (std::isnan(e)) same = std::isnan(a);
    if (same && has_signs && e == 0) same = std::signbit(a) == std::signbit(e);
    if (!same && std::isfinite(e)) same = std::abs(a - e) <= relative * largest;
    if (!same) {
      return fmt::format("element {} is {:.17g} instead of {:.17g}", i, static_cast<double>(a),
                         static_cast<double>(e));
    }
  }
  return "";
}

// Returns what differs, or an empty text.
std::string difference(const OpNode& op, const HostTensor& y, size_t result, Naive expected) {
  if (y.type() != expected.type)
    return fmt::format("type {} instead of {}", to_text(y.type()), to_text(expected.type));
  Naive actual = naive(y);
  if (op.rules->name() == "eigh" && result == 1) {
    fix_signs(actual);
    fix_signs(expected);
  }
  const bool is_number = is_differentiable(actual.type.dtype);
  const bool exact = is_exact(op.rules->name()) || !is_number;
  const double relative = exact ? 0 : tolerance(actual.type.dtype);
  const std::string re = difference(actual.re, expected.re, relative, exact && is_number);
  return re.empty() ? difference(actual.im, expected.im, relative, exact) : re;
}

// Runs the region op by op, and compares each op with its reference on the same operands.
void check_region(const Region& region, const std::vector<HostTensor>& arguments,
                  const EvalOptions& options) {
  std::unordered_map<const OpNode*, std::vector<HostTensor>> known;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& p = region.parameters()[i];
    known[p.node()] = {arguments[i].astype(options.stored(p.type()).dtype)};
  }
  for (const OpNode* op : region.ops()) {
    const auto reference = testing::references().find(op->rules->name());
    if (reference == testing::references().end()) {
      ADD_FAILURE() << op->rules->name() << " has no reference in transform/laws";
      return;
    }
    std::vector<const HostTensor*> x;
    Naives operands;
    for (const Tensor& t : op->inputs) {
      x.push_back(&known.at(t.node())[t.index()]);
      operands.push_back(naive(*x.back()));
    }
    std::vector<HostTensor> y;
    for (const Type& type : op->outputs) y.emplace_back(options.stored(type));
    op->rules->row().eval(options, *op, x, y);
    const Naives expected =
        reference->second({*op, operands, options, testing::AttributeText(*op)});
    ASSERT_EQ(y.size(), expected.size()) << op->rules->name();
    for (size_t r = 0; r < y.size(); ++r) {
      EXPECT_EQ(difference(*op, y[r], r, expected[r]), "") << fmt::format(
          "{} {{{}}} of {}, result {}", op->rules->name(),
          op->attributes ? op->attributes->text() : "", to_text(types_of(op->inputs)), r);
    }
    known[op] = std::move(y);
  }
}

std::vector<Type> types_of_all(const std::vector<HostTensor>& x) {
  std::vector<Type> out;
  for (const HostTensor& t : x) out.push_back(t.type());
  return out;
}

TEST(ReferenceLaw, EveryRowHasOneAndASampleOfIt) {
  std::set<std::string> rows, sampled;
  for (const OpRules* op : all_ops()) rows.emplace(op->name());
  for (const OpSample& sample : testing::all_samples())
    collect_names(*trace(sample.fn, types_of_all(sample.inputs)), sampled);
  rows.erase("while_pullback");  // jvp replaces it: no program runs it (WhileLoop's tests of jvp)
  for (const std::string& row : rows) {
    EXPECT_TRUE(testing::references().contains(row) ||
                testing::collective_references().contains(row))
        << row << " has no reference in transform/laws";
    EXPECT_TRUE(sampled.contains(row)) << row << " has no sample in testing/";
  }
  for (const auto& [name, reference] : testing::references())
    EXPECT_TRUE(rows.contains(name)) << "a reference of " << name << ", which is no op";
  for (const auto& [name, reference] : testing::collective_references())
    EXPECT_TRUE(rows.contains(name)) << "a reference of " << name << ", which is no op";
}

// A row that forgets its cost has no flops.
TEST(ReferenceLaw, RowsOfFloatsHaveFlopsUnlessTheyAreKnownToHaveNone) {
  std::set<std::string> without;
  for (const OpSample& sample : testing::all_samples()) {
    const auto region = trace(sample.fn, types_of_all(sample.inputs));
    for (const OpNode* op : region->ops()) {
      if (op->inputs.empty() || !is_differentiable(op->inputs[0].type().dtype)) continue;
      if (op->rules->row().cost.flops(*op) == 0) without.emplace(op->rules->name());
    }
  }
  EXPECT_EQ(without, (std::set<std::string>{"bitcast_convert",
                                            "broadcast_in_dim",
                                            "complex",
                                            "concatenate",
                                            "dynamic_slice",
                                            "dynamic_update_slice",
                                            "gather",
                                            "imag",
                                            "name",
                                            "optimization_barrier",
                                            "pad",
                                            "place",
                                            "real",
                                            "reshape",
                                            "reverse",
                                            "scatter",
                                            "shard_map",
                                            "sharding_constraint",
                                            "slice",
                                            "stop_gradient",
                                            "tap",
                                            "tap_gradient",
                                            "transpose"}));
}

TEST(ReferenceLaw, EveryRowEvaluatesToIt) {
  for (const OpSample& sample : testing::all_samples()) {
    const auto region = trace(sample.fn, types_of_all(sample.inputs));
    for (const bool f64 : {false, true}) {
      SCOPED_TRACE(fmt::format("sample of {}, f64 = {}", sample.op, f64));
      check_region(*region, sample.inputs, {.f64 = f64});
    }
  }
}

// The ops that gradients emit have attributes that no sample has.
TEST(ReferenceLaw, OpsOfGradientsAgreeWithTheReference) {
  for (const OpSample& sample : testing::all_samples()) {
    if (sample.op == "while") continue;  // it has no reverse mode
    const auto forward = trace(sample.fn, types_of_all(sample.inputs));
    std::vector<HostTensor> cotangents;
    bool has_gradient = false;
    for (const Tensor& y : forward->results()) {
      cotangents.push_back(testing::random_tensor(y.type(), cotangents.size() + 1));
      has_gradient = has_gradient || is_differentiable(y.dtype());
    }
    if (!has_gradient || sample.inputs.empty()) continue;
    SCOPED_TRACE(fmt::format("gradient of {}", sample.op));
    check_region(
        *trace(testing::gradient_function(sample.fn, cotangents), types_of_all(sample.inputs)),
        sample.inputs, {.f64 = true});
  }
}

// The same for batches: each argument has a copy of its values for each of two examples.
TEST(ReferenceLaw, OpsOfBatchesAgreeWithTheReference) {
  for (const OpSample& sample : testing::all_samples()) {
    if (sample.inputs.empty()) continue;
    SCOPED_TRACE(fmt::format("batch of {}", sample.op));
    std::vector<HostTensor> batch;
    for (const HostTensor& x : sample.inputs) {
      Type type = x.type();
      type.dims.insert(type.dims.begin(), 2);
      HostTensor both(type);
      std::ranges::copy(x.bytes(), both.bytes().begin());
      std::ranges::copy(x.bytes(), both.bytes().begin() + static_cast<ptrdiff_t>(x.bytes().size()));
      batch.push_back(std::move(both));
    }
    check_region(*trace([&](const Values& v) { return vmap(sample.fn, v); }, types_of_all(batch)),
                 batch, {});
  }
}

}  // namespace
}  // namespace axle
