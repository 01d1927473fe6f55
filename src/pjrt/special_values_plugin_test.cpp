// Law: a plugin computes what the interpreter computes where numbers are special: NaN, infinities,
// both zeros, denormal and extreme numbers, integers that overflow, and tensors without elements.
//
// The calls are the samples of all ops with other operands. Many make one program, to compile less.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <map>
#include <optional>
#include <set>

#include "base/text/text.h"
#include "testing/plugin_fixture.h"
#include "testing/sample_dtypes.h"
#include "transform/trace.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::op_samples;
using testing::operand_types;
using testing::OpSample;

// Which numbers take the place of those of a sample.
enum class Pool {
  kAll,        // extremes too
  kNotFinite,  // NaN and infinities among small numbers
  kSmall,      // both zeros, ones, halves
};

// The least normal and the least positive number of a float.
struct LeastNumbers {
  double normal, positive;
};
LeastNumbers least_numbers(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {0x1p-6, 0x1p-9};
    case DType::kF8E5M2:
      return {0x1p-14, 0x1p-16};
    case DType::kF16:
      return {0x1p-14, 0x1p-24};
    case DType::kBF16:
      return {0x1p-126, 0x1p-133};
    case DType::kF64:
      return {0x1p-1022, 0x1p-1074};
    default:
      return {0x1p-126, 0x1p-149};
  }
}

// Numbers of a real dtype, computed as T.
template <class T>
std::vector<T> float_pool(Pool pool, DType dtype) {
  using Limits = std::numeric_limits<T>;
  const T nan = Limits::quiet_NaN(), inf = Limits::infinity(), most = T(largest_number(dtype));
  switch (pool) {
    case Pool::kAll:
      return {T(1),   most,  T(-0.0), -most,  T(0.5),
              inf,    T(-1), nan,     T(0),   T(least_numbers(dtype).normal),
              T(2.5), -inf,  T(-3),   T(1e9), T(-1e-9)};
    case Pool::kNotFinite:
      return {T(1), T(-0.0), T(0.5), inf, T(-1), T(2), T(0), nan, T(-2), T(3), -inf};
    case Pool::kSmall:
      return {T(0), T(-0.0), T(1), T(-1), T(0.5), T(-0.0), T(0)};
  }
  return {};
}

// Returns a tensor of this type with numbers of the pool, which start at another one for each seed.
HostTensor from_pool(const Type& type, Pool pool, size_t seed) {
  HostTensor out(type);
  dispatch_any(type.dtype, [&]<class T>(std::type_identity<T>) {
    using C = Computed<T>;
    const auto to = out.values<T>();
    for (size_t i = 0; i < to.size(); ++i) {
      const size_t at = seed * 5 + i + i / 4;
      if constexpr (kIsComplex<T>) {
        const auto numbers = float_pool<typename T::value_type>(pool, real_dtype(type.dtype));
        to[i] = T(numbers[at % numbers.size()], numbers[(at * 3 + 1) % numbers.size()]);
      } else if constexpr (std::is_same_v<T, bool>) {
        to[i] = at % 3 == 0;
      } else if constexpr (std::is_integral_v<C>) {
        using Range = IntegerRange<T>;
        const C numbers[] = {C(1),  Range::kMax,           C(0), Range::kMin, C(2),
                             C(-1), C(Range::kMax - C(1)), C(7), C(3)};
        to[i] = convert_element<T>(numbers[at % std::size(numbers)]);
      } else {
        const auto numbers = float_pool<C>(pool, type.dtype);
        to[i] = convert_element<T>(numbers[at % numbers.size()]);
      }
    }
  });
  return out;
}

// Returns a tensor of floats of this type: subnormal numbers, zeros and numbers near 1.
HostTensor with_subnormals(const Type& type, size_t seed) {
  const auto [normal, least] = least_numbers(type.dtype);
  const double numbers[] = {1,   least,  -0.0, normal - least, -1,        -least,
                            0.5, normal, 0,    least - normal, 3 * least, 2};
  HostTensor out(type);
  dispatch(type.dtype, [&]<class T>(std::type_identity<T>) {
    const auto to = out.values<T>();
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = convert_element<T>(numbers[(seed * 5 + i + i / 4) % std::size(numbers)]);
  });
  return out;
}

double flushed(double v, DType dtype) { return std::abs(v) < least_numbers(dtype).normal ? 0 : v; }
// Returns the floats with zeros in place of subnormal numbers; other tensors as they are.
HostTensor flushed(const HostTensor& x) {
  if (!is_float(x.dtype())) return x;
  HostTensor out = x;
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto to = out.values<T>();
    for (size_t i = 0; i < to.size(); ++i) {
      if (flushed(x.at(static_cast<int64_t>(i)), x.dtype()) == 0) to[i] = convert_element<T>(0.0);
    }
  });
  return out;
}

// True if other indices would break a promise that the call makes.
bool makes_promises(const Region& region) {
  for (const OpNode* op : region.ops()) {
    const std::string name(op->rules->name());
    if (name.starts_with("ragged_dot")) return true;  // sizes of groups are not negative
    if (!name.starts_with("gather") && !name.starts_with("scatter")) continue;
    const std::string text = op->attributes->text();
    for (const char* promise : {"sorted", "unique", "in_bounds"}) {
      if (text.find(promise) != std::string::npos) return true;
    }
    if (name == "scatter") return true;  // windows must not overlap
  }
  return false;
}

std::set<std::string_view> words(std::string_view text) {
  const auto all = split(text, ' ');
  return {all.begin(), all.end()};
}

// True if the order of the terms of a sum or product decides what overflows. The interpreter sums
// in f64, where nothing of these numbers does.
bool depends_on_order(const Region& region) {
  static const auto kOps = words(
      "reduce_sum reduce_prod cumsum cumprod reduce_window_sum softmax dot_general "
      "convolution ragged_dot ragged_dot_contracting cholesky qr eigh scatter_mul "
      "select_and_scatter_add log_softmax triangular_solve");
  return std::ranges::any_of(region.ops(),
                             [](const OpNode* op) { return kOps.contains(op->rules->name()); });
}
// True for ops that spread NaN and infinities in another way than the plugin, which is no fault of
// either:
// * complex products: C++ recovers infinities as C's Annex G says, plugins compute the formula;
// * transforms: the factors of the size decide which elements meet;
// * decompositions: they have pivots of NaN;
// * convolutions: the plugin multiplies the zeros of the padding by the kernel;
// * algorithms of products: the interpreter splits operands in parts, the plugin does not;
// * powers of f8e4m3fn: the plugin rounds each product, and to NaN beyond the largest number.
bool spreads_in_its_own_way(const Region& region) {
  static const std::set<std::string_view> kOps = {"fft",  "cholesky",         "qr",
                                                  "eigh", "triangular_solve", "convolution"};
  return std::ranges::any_of(region.ops(), [](const OpNode* op) {
    const std::string_view name = op->rules->name();
    const bool is_product =
        name == "mul" || name == "div" || name == "dot_general" || name == "square";
    const bool has_algorithm =
        name == "dot_general" && op->attributes->text().find("algorithm") != std::string::npos;
    const DType dtype = op->outputs[0].dtype;
    return kOps.contains(name) || has_algorithm || (is_product && is_complex(dtype)) ||
           (name == "integer_pow" && dtype == DType::kF8E4M3FN);
  });
}

class SpecialValues : public PluginTest {
 protected:
  // Says how a result on the plugin differs from that on the interpreter; empty if it does not.
  using Difference = std::function<std::string(const OpSample& call, size_t result,
                                               const HostTensor& actual, const HostTensor& exact)>;

  // Expects each call to give on the plugin what it gives on the interpreter.
  void expect_same_of(const std::vector<OpSample>& calls) {
    expect_same_of(
        calls, [](const OpSample& call, size_t, const HostTensor& actual, const HostTensor& exact) {
          return first_difference(actual, exact, is_exact(call), rounding(actual.dtype()));
        });
  }
  void expect_same_of(const std::vector<OpSample>& calls, const Difference& difference) {
    constexpr size_t kCallsInAProgram = 80;
    for (size_t first = 0; first < calls.size(); first += kCallsInAProgram) {
      const auto begin = calls.begin() + static_cast<ptrdiff_t>(first);
      const size_t count = std::min(kCallsInAProgram, calls.size() - first);
      expect_same_program({begin, begin + static_cast<ptrdiff_t>(count)}, difference);
    }
  }
  // True if no op of the call computes or converts: it moves elements.
  static bool only_moves(const OpSample& call) {
    const auto region = trace(call.fn, operand_types(call));
    return std::ranges::all_of(region->ops(), [](const OpNode* op) {
      const bool converts = !op->inputs.empty() && op->outputs[0].dtype != op->inputs[0].dtype();
      return op->rules->row().cost.flops(*op) == 0 && !converts;
    });
  }
  // What results of several roundings may differ by, relative to them.
  static double rounding(DType dtype) {
    if (real_dtype(dtype) == DType::kF64) return 1e-12;
    return std::max(small_rounding(real_dtype(dtype)), 2e-6);
  }

 private:
  void expect_same_program(const std::vector<OpSample>& calls, const Difference& difference) {
    std::vector<HostTensor> inputs;
    for (const OpSample& call : calls)
      inputs.insert(inputs.end(), call.inputs.begin(), call.inputs.end());
    const TensorFunction all = [&](const Values& v) {
      Values out;
      size_t next = 0;
      for (const OpSample& call : calls) {
        const auto begin = v.begin() + static_cast<ptrdiff_t>(next);
        next += call.inputs.size();
        const Values y = call.fn(Values(begin, begin + static_cast<ptrdiff_t>(call.inputs.size())));
        out.insert(out.end(), y.begin(), y.end());
      }
      return out;
    };
    const auto actual = run(all, inputs);
    size_t next = 0;
    for (const OpSample& call : calls) {
      const std::vector<HostTensor> exact = eval(call.fn, call.inputs);
      for (size_t r = 0; r < exact.size(); ++r) {
        const std::string what = difference(call, r, actual.at(next++), exact[r]);
        if (what.empty()) continue;
        std::string operands;
        for (const HostTensor& x : call.inputs) operands += "\n  " + x.text(40);
        ADD_FAILURE() << call.op << ": " << what << operands;
      }
    }
  }

  // Integers, predicates and floats that are only moved or compared are equal; other floats differ
  // by a few units of the last place, and of results near 0 by as much of 1. Plugins may flush
  // denormal numbers.
  static std::string first_difference(const HostTensor& actual, const HostTensor& expected,
                                      bool is_moved, double unit) {
    if (actual.type() != expected.type())
      return to_text(actual.type()) + " instead of " + to_text(expected.type());
    if (is_complex(actual.dtype())) {
      return first_difference(testing::real_parts(actual), testing::real_parts(expected), is_moved,
                              unit);
    }
    if (!is_float(actual.dtype()))
      return actual == expected ? "" : actual.text(40) + " instead of " + expected.text(40);
    for (int64_t i = 0; i < actual.size(); ++i) {
      const double a = actual.at(i), e = expected.at(i);
      bool same = std::isnan(e) ? std::isnan(a) : a == e;
      if (is_moved && e == 0) same = same && std::signbit(a) == std::signbit(e);
      if (!is_moved && std::isfinite(e))
        same = std::abs(a - e) <= unit * std::max(1.0, std::abs(e));
      if (!same) return fmt::format("element {} is {} instead of {}", i, a, e);
    }
    return "";
  }
  // True if no op of the call computes more than one operation of IEEE 754 for each element.
  static bool is_exact(const OpSample& call) {
    static const auto kExact = words(
        "neg abs sign floor ceil round_nearest_even round_nearest_afz max min clamp "
        "select convert reduce_max reduce_min cummax cummin scatter_max scatter_min "
        "reduce_window_max reduce_window_min nextafter sort top_k relu real imag complex");
    const auto region = trace(call.fn, operand_types(call));
    return std::ranges::all_of(region->ops(), [](const OpNode* op) {
      return kExact.contains(op->rules->name()) || op->rules->row().cost.flops(*op) == 0;
    });
  }
};

TEST_F(SpecialValues, OpsMatchTheInterpreter) {
  std::vector<OpSample> calls;
  for (const OpSample& sample : op_samples()) {
    if (sample.inputs.empty()) continue;
    const auto region = trace(sample.fn, operand_types(sample));
    const bool keeps_integers = makes_promises(*region);
    for (const Pool pool : {Pool::kAll, Pool::kNotFinite, Pool::kSmall}) {
      if (pool == Pool::kAll && depends_on_order(*region)) continue;
      if (pool != Pool::kSmall && spreads_in_its_own_way(*region)) continue;
      OpSample call = sample;
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        HostTensor& x = call.inputs[i];
        if (keeps_integers && is_integer(x.dtype())) continue;
        x = from_pool(x.type(), pool, i + 1);
      }
      calls.push_back(std::move(call));
    }
  }
  expect_same_of(calls);
}

// The calls of the samples in a dtype with numbers of these pools. A few samples of an op are
// enough here: those in the dtypes of the samples are all called above.
std::vector<OpSample> calls_in(DType dtype, const std::vector<Pool>& pools) {
  constexpr int kSamplesOfAnOp = 2;
  std::map<std::string_view, int> count;
  std::vector<OpSample> out;
  for (const OpSample& sample : op_samples()) {
    if (count[sample.op] == kSamplesOfAnOp) continue;
    const std::optional<OpSample> own = testing::in_dtype(sample, dtype);
    if (!own) continue;
    ++count[sample.op];
    const auto region = trace(own->fn, operand_types(*own));
    const bool keeps_integers = makes_promises(*region);
    for (const Pool pool : pools) {
      if (pool == Pool::kAll && depends_on_order(*region)) continue;
      if (pool != Pool::kSmall && !is_integer(dtype) && spreads_in_its_own_way(*region)) continue;
      OpSample call = *own;
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        HostTensor& x = call.inputs[i];
        if (keeps_integers && is_integer(x.dtype())) continue;
        x = from_pool(x.type(), pool, i + 1);
      }
      out.push_back(std::move(call));
    }
  }
  return out;
}

class SpecialValuesOf : public SpecialValues, public ::testing::WithParamInterface<DType> {};

TEST_P(SpecialValuesOf, OpsOfTheDtypeMatchTheInterpreter) {
  const std::vector<OpSample> calls =
      calls_in(GetParam(), is_integer(GetParam()) ? std::vector{Pool::kNotFinite}
                                                  : std::vector{Pool::kAll, Pool::kNotFinite});
  EXPECT_GT(calls.size(), 20u);
  expect_same_of(calls);
}

constexpr auto kNamedByDType = [](const auto& dtype) { return std::string(name_of(dtype.param)); };

INSTANTIATE_TEST_SUITE_P(Dtypes, SpecialValuesOf,
                         ::testing::Values(DType::kF32, DType::kC64, DType::kI8, DType::kU4,
                                           DType::kU32),
                         kNamedByDType);
INSTANTIATE_TEST_SUITE_P(WeeklyDtypes, SpecialValuesOf,
                         ::testing::Values(DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16,
                                           DType::kBF16, DType::kF64, DType::kC128, DType::kI4,
                                           DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                                           DType::kU16, DType::kU64),
                         kNamedByDType);

class SubnormalsOf : public SpecialValues, public ::testing::WithParamInterface<DType> {};

// A plugin may take a subnormal operand for 0, and give 0 for a subnormal result. What only moves
// numbers keeps them; bf16 may be moved as f32. Not compared are ops that tell a subnormal number
// from 0 by its bits and by its value: nextafter, and atan2, which is NaN where both become 0.
TEST_P(SubnormalsOf, AreNumbersOrZero) {
  const DType dtype = GetParam();
  std::vector<OpSample> calls = calls_in(dtype, {Pool::kSmall});
  std::erase_if(calls,
                [](const OpSample& call) { return call.op == "nextafter" || call.op == "atan2"; });
  for (OpSample& call : calls) {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      HostTensor& x = call.inputs[i];
      if (x.dtype() == dtype) x = with_subnormals(x.type(), i + 1);
    }
  }
  const auto reals = [](const HostTensor& x) {
    return is_complex(x.dtype()) ? testing::real_parts(x) : x;
  };
  const auto is_one_of = [](double actual, double exact, DType of) {
    if (!is_float(of)) return actual == exact;
    const double a = flushed(actual, of), e = flushed(exact, of);
    return (std::isnan(e) && std::isnan(a)) || a == e ||
           std::abs(a - e) <= rounding(of) * std::max(1.0, std::abs(e));
  };
  const Difference difference = [&](const OpSample& call, size_t result, const HostTensor& found,
                                    const HostTensor& wanted) -> std::string {
    if (dtype != DType::kBF16 && only_moves(call))
      return found == wanted ? "" : "numbers that were only moved differ";
    std::vector<HostTensor> zeros;
    for (const HostTensor& x : call.inputs) zeros.push_back(flushed(x));
    const HostTensor actual = reals(found), exact = reals(wanted),
                     of_zeros = reals(eval(call.fn, zeros)[result]);
    const DType of = real_dtype(wanted.dtype());
    for (int64_t i = 0; i < actual.size(); ++i) {
      const double a = actual.at(i), e = exact.at(i), z = of_zeros.at(i);
      if (!is_one_of(a, e, of) && !is_one_of(a, z, of))
        return fmt::format("element {} is {} instead of {} or {}", i, a, e, z);
    }
    return "";
  };
  expect_same_of(calls, difference);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, SubnormalsOf, ::testing::Values(DType::kBF16, DType::kF32),
                         kNamedByDType);
INSTANTIATE_TEST_SUITE_P(WeeklyDtypes, SubnormalsOf,
                         ::testing::Values(DType::kF8E4M3FN, DType::kF8E5M2, DType::kF16,
                                           DType::kF64),
                         kNamedByDType);

// A batch of no examples gives each op operands without elements.
TEST_F(SpecialValues, EmptyBatchesMatchTheInterpreter) {
  std::vector<OpSample> calls;
  for (const OpSample& sample : op_samples()) {
    if (sample.inputs.empty()) continue;
    OpSample call = sample;
    for (HostTensor& x : call.inputs) {
      Type type = x.type();
      type.dims.insert(type.dims.begin(), 0);
      x = HostTensor(type);
    }
    call.fn = [fn = sample.fn](const Values& v) { return vmap(fn, v); };
    calls.push_back(std::move(call));
  }
  expect_same_of(calls);
}

// Sums, products, maxima and sorted lines of nothing.
TEST_F(SpecialValues, EmptyDimsMatchTheInterpreter) {
  namespace s = testing::samples;
  std::vector<OpSample> calls;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI32, DType::kU8}) {
    const HostTensor x(Type{dtype, {3, 0}});
    const auto add = [&](std::string_view op, std::function<Tensor(const Tensor&)> fn) {
      calls.push_back(s::call(op, {x}, [fn](const Values& v) { return fn(v[0]); }));
    };
    for (const int64_t axis : {0, 1}) {
      add("reduce_sum", [axis](const Tensor& t) { return reduce_sum(t, {axis}); });
      add("reduce_prod", [axis](const Tensor& t) { return reduce_prod(t, {axis}); });
      add("reduce_max", [axis](const Tensor& t) { return reduce_max(t, {axis}); });
      add("reduce_min", [axis](const Tensor& t) { return reduce_min(t, {axis}); });
      add("cumsum", [axis](const Tensor& t) { return cumsum(t, axis); });
      add("cumprod", [axis](const Tensor& t) { return cumprod(t, axis, true); });
      add("cummax", [axis](const Tensor& t) { return cummax(t, axis); });
      add("cummin", [axis](const Tensor& t) { return cummin(t, axis); });
      add("sort", [axis](const Tensor& t) { return sort(t, axis); });
    }
    add("argmax", [](const Tensor& t) { return argmax(t, 0); });
    add("top_k", [](const Tensor& t) { return top_k(t, 0).first; });
    add("dot_general", [](const Tensor& t) { return dot(t, transpose(t, {1, 0})); });
    add("dot_general", [](const Tensor& t) { return dot(transpose(t, {1, 0}), t); });
    add("concatenate", [](const Tensor& t) {
      return concatenate(Values{t, full_like(t, 1), t}, 1);
    });
    add("pad", [](const Tensor& t) { return pad(t, 1, {0, 1}, {1, 2}, {1, 3}); });
    add("reshape", [](const Tensor& t) { return reshape(t, {0, 7}); });
    add("broadcast_in_dim", [](const Tensor& t) { return broadcast_to(t, {2, 3, 0}); });
    add("slice", [](const Tensor& t) { return slice(t, {1, 0}, {1, 0}); });
    add("reverse", [](const Tensor& t) { return reverse(t, {0, 1}); });
    add("reduce_window_sum", [](const Tensor& t) {
      return reduce_window_sum(t, {.sizes = {2, 1}, .padding = {{0, 0}, {1, 1}}});
    });
    add("reduce_window_max", [](const Tensor& t) {
      return reduce_window_max(t, {.sizes = {2, 1}, .padding = {{0, 0}, {1, 1}}});
    });
    if (!is_float(dtype)) continue;
    add("softmax", [](const Tensor& t) { return softmax(t, 1); });
    add("log_softmax", [](const Tensor& t) { return log_softmax(t, 1); });
    add("cumlogsumexp", [](const Tensor& t) { return cumlogsumexp(t, 1); });
  }
  for (const DType dtype : {DType::kPred, DType::kI32}) {
    const HostTensor x(Type{dtype, {3, 0}});
    calls.push_back(
        s::call("reduce_and", {x}, [](const Values& v) { return reduce_and(v[0], {1}); }));
    calls.push_back(
        s::call("reduce_or", {x}, [](const Values& v) { return reduce_or(v[0], {1}); }));
    calls.push_back(
        s::call("reduce_xor", {x}, [](const Values& v) { return reduce_xor(v[0], {1}); }));
  }
  expect_same_of(calls);
}

}  // namespace
}  // namespace axle
