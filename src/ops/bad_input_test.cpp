// What ops say about numbers that make no sense: counts, sizes, axes, intervals, empty lists.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/random/random.h"
#include "ops/random/threefry_keys.h"
#include "testing/error_without_lines.h"

namespace axle {
namespace {

using ::testing::StartsWith;

// x is f32[2, 3], n is i32[4], s is a scalar.
struct Operands {
  Tensor x, n, s;
};

struct Row {
  const char* error;  // how it starts, after the layer
  std::function<void(const Operands& o)> call;
};

std::string error_of_call(const std::function<void(const Operands& o)>& call) {
  Region region;
  const TraceScope trace(region);
  const Operands operands{region.add_parameter({DType::kF32, {2, 3}}),
                          region.add_parameter({DType::kI32, {4}}),
                          region.add_parameter({DType::kF32, {}})};
  return error_without_lines<ShapeError>([&] { call(operands); });
}

void expect_errors(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    EXPECT_THAT(error_of_call(row.call), StartsWith(std::string("the top level: ") + row.error));
}

TEST(BadInputOfOps, CountsAndSizesAreNotNegative) {
  expect_errors({
      {"split: expected sizes of at least 0, got [4, -1]; operands: f32[2, 3] of",
       [](auto& o) {
         split(o.x, {4, -1}, 1);
       }},
      {"integer_pow: expected a power from -1099511627776 to 1099511627776, got "
       "-9223372036854775808",
       [](auto& o) { integer_pow(o.x, std::numeric_limits<int64_t>::min()); }},
      {"split_equally: expected a number of parts that divides 3, got -3",
       [](auto& o) { split_equally(o.x, -3, 1); }},
      {"tile: expected repeats of at least 0, got [-1, -1]",
       [](auto& o) {
         tile(o.x, {-1, -1});
       }},
      {"repeat: expected a count of at least 0, got -1", [](auto& o) { repeat(o.x, -1, 0); }},
      {"reshape: expected sizes of at least 0, got f32[-2, -3]",
       [](auto& o) {
         reshape(o.x, {-2, -3});
       }},
      {"eye: expected numbers of rows and columns of at least 0, got [-1, 2]",
       [](auto&) { eye(-1, 2); }},
      {"tri: expected numbers of rows and columns of at least 0, got [2, -1]",
       [](auto&) { tri(2, -1); }},
      {"linspace: expected a count of at least 0, got -1", [](auto&) { linspace(0, 1, -1); }},
      {"one_hot: expected a number of classes of at least 0, got -1",
       [](auto& o) { one_hot(o.n, -1); }},
      {"from_end: expected a size of at least 0, got -4", [](auto& o) { from_end(o.n, -4); }},
      {"bincount: expected a length of at least 0, got -1", [](auto& o) { bincount(o.n, -1); }},
      {"nonzero: expected a size of at least 0, got -1", [](auto& o) { nonzero(o.n, -1); }},
      {"unique: expected a size of at least 0, got -1", [](auto& o) { unique(o.n, -1); }},
      {"top_k: expected k from 0 to 3, the size of the last dim, got 4",
       [](auto& o) { top_k(o.x, 4); }},
      {"top_k: expected k from 0 to 3, the size of the last dim, got -1",
       [](auto& o) { top_k(o.x, -1); }},
      {"approx_max_k: expected k from 1 to 3, the size of axis 1, got 0; operands: f32[2, 3] of",
       [](auto& o) { approx_max_k(o.x, 0); }},
      {"approx_max_k: expected k from 1 to 2, the size of axis 0, got 3",
       [](auto& o) { approx_max_k(o.x, 3, 0); }},
      {"approx_max_k: expected recall_target above 0 and at most 1, got 0",
       [](auto& o) { approx_max_k(o.x, 1, -1, {.recall_target = 0}); }},
      {"approx_max_k: expected recall_target above 0 and at most 1, got 1.5",
       [](auto& o) { approx_max_k(o.x, 1, -1, {.recall_target = 1.5}); }},
      {"approx_max_k: expected recall_target above 0 and at most 1, got nan",
       [](auto& o) { approx_max_k(o.x, 1, -1, {.recall_target = std::nan("")}); }},
      {"approx_max_k: expected reduction_input_size_override of at least 3, the size of axis 1, "
       "got 2",
       [](auto& o) { approx_max_k(o.x, 1, -1, {.reduction_input_size_override = 2}); }},
      {"approx_max_k: expected a floating-point operand, got i32",
       [](auto& o) { approx_max_k(o.n, 1); }},
      {"irfft: expected a size of at least 1, got -1",
       [](auto& o) { irfft(complex(o.x, o.x), -1); }},
      {"features_last: expected a number of spatial dims of at least 0, got -1",
       [](auto&) { features_last(-1); }},
  });
}

TEST(BadInputOfOps, AxesAreChecked) {
  expect_errors({
      {"concatenate: expected an axis of 2 dims, got 9; operands: f32[2, 3] of",
       [](auto& o) { concatenate({o.x}, 9); }},
      {"concatenate: expected parts of one dtype, got f32[2, 3] and i32[4]",
       [](auto& o) {
         concatenate({o.x, o.n}, 0);
       }},
      {"concatenate: expected parts with as many dims, got f32[2, 3] and f32[]",
       [](auto& o) {
         concatenate({o.x, o.s}, 0);
       }},
      {"stack: expected at least one part, got none", [](auto&) { stack({}); }},
      {"expand_dims: expected an axis from -3 to 2, got 3", [](auto& o) { expand_dims(o.x, 3); }},
      {"flatten: expected a first dim before the last one, got 1 and 0",
       [](auto& o) { flatten(o.x, 1, 0); }},
      {"flatten: expected an axis of 1 dims, got 5", [](auto& o) { flatten(o.s, 5); }},
      {"iota: expected an axis of [2, 3], got -3",
       [](auto&) {
         iota({2, 3}, -3);
       }},
      {"argsort: expected an axis of 2 dims, got 2", [](auto& o) { argsort(o.x, 2); }},
      {"index_in_dim: expected an index from -3 to 2, got 3",
       [](auto& o) { index_in_dim(o.x, 1, 3); }},
      {"batched_take: expected from 0 to 1 batch dims, got -1",
       [](auto& o) { batched_take(o.x, o.n, -1); }},
      {"batched_take: expected from 0 to 1 batch dims, got 2",
       [](auto& o) { batched_take(o.x, o.n, 2); }},
      {"batched_put_rows: expected x [B, S, ..], starts [B] and updates [B, T, ..]; operands: "
       "f32[]",
       [](auto& o) { batched_put_rows(o.s, o.n, o.x); }},
      {"random::permutation: expected an axis of 2 dims, got 2",
       [](auto& o) { random::permutation(random::random_key(0), o.x, 2); }},
      {"random::independent_permutation: expected an axis of 0 dims, got 0",
       [](auto& o) { random::independent_permutation(random::random_key(0), o.s, 0); }},
  });
}

// Numbers near the ends of 64 bits would overflow to sizes that look right.
TEST(BadInputOfOps, SizesDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  expect_errors({
      {"pad: expected padding for each dim of i32[4] that leaves a size from 0 to "
       "1125899906842624, and interior >= 0, got low = [9223372036854775807], high = "
       "[9223372036854775807]",
       [](auto& o) { pad(o.n, 0, {kMost}, {kMost}); }},
      {"pad: expected padding for each dim of i32[4]",
       [](auto& o) { pad(o.n, 0, {0}, {0}, {kMost}); }},
      {"pad: expected padding for each dim of i32[4]",
       [](auto& o) { pad(o.n, 0, {-kMost}, {kMost}); }},
      {"reduce_window_sum: expected a window that with its strides, dilations and padding spans at "
       "most 1125899906842624 elements of a dim, got window = [2], padding = "
       "[(9223372036854775807, 0)]",
       [](auto& o) {
         reduce_window_sum(o.n, {.sizes = {2}, .padding = {{kMost, 0}}});
       }},
      {"reduce_window_sum: expected a window that",
       [](auto& o) { reduce_window_sum(o.n, {.sizes = {3}, .window_dilations = {kMost / 2}}); }},
      {"reduce_window_sum: expected a window that",
       [](auto& o) { reduce_window_sum(o.n, {.sizes = {3}, .base_dilations = {kMost}}); }},
      {"reduce_window_sum: expected a window that",
       [](auto& o) { reduce_window_sum(o.n, {.sizes = {3}, .strides = {kMost}}); }},
      {"diagonal_matrix: expected a matrix of at most 1125899906842624 elements, got the offset "
       "9223372036854775807",
       [](auto& o) { diagonal_matrix(o.n, kMost); }},
  });
}

// What would be the operand itself is checked too.
TEST(BadInputOfOps, IdentityShortcutsDoNotSkipTheChecks) {
  expect_errors({
      {"slice: expected 0 <= start <= limit <= size and stride >= 1 for each dim of f32[2, 3], got "
       "starts = [], limits = [2, 3]",
       [](auto& o) {
         slice(o.x, {}, {2, 3});
       }},
      {"pad: expected padding for each dim of f32[2, 3] that leaves a size from 0 to "
       "1125899906842624, and interior >= 0, got low = [0], high = []",
       [](auto& o) { pad(o.x, o.s, {0}, {}); }},
      {"pad: expected a scalar f32 to pad with, got i32[4]",
       [](auto& o) {
         pad(o.x, o.n, {0, 0}, {0, 0});
       }},
      {"broadcast_in_dim: expected ascending dims with the sizes of [4] in [4], got [1]: cannot "
       "place dim 0 of size 4",
       [](auto& o) { broadcast_in_dim(o.n, {4}, {1}); }},
      {"broadcast_in_dim: expected 2 dims, got []",
       [](auto& o) {
         broadcast_in_dim(o.x, {2, 3}, {});
       }},
      {"dynamic_roll: expected an integer scalar as shift",
       [](auto& o) { dynamic_roll(zeros({0}), o.s); }},
      {"select_n: expected cases of one type and a choice of their shape or a scalar, got i32[4] "
       "for f32[2, 3]",
       [](auto& o) { select_n(o.n, {o.x}); }},
      {"convolution: expected dims that name each of 2 dims once, got []",
       [](auto& o) {
         convolution(o.x, o.x, {.dims = {.kernel = {0, 1}}});
       }},
  });
}

// A number beside a tensor is an operand of the op that is called, which the error names.
TEST(BadInputOfOps, NumbersCombinedWithTensorsFitTheirDtype) {
  const std::string operand = "; operands: i32[4] of the top level (parameter)";
  const auto refused = [&](std::string_view op, std::string_view number) {
    return fmt::format("the top level: {}: expected a whole number in the range of i32, got {}{}",
                       op, number, operand);
  };
  const auto expect = [&](std::string_view op, std::string_view number,
                          const std::function<void(const Operands& o)>& call) {
    EXPECT_EQ(error_of_call(call), refused(op, number));
  };
  expect("add", "2.5", [](auto& o) { o.n + 2.5; });
  expect("sub", "0.5", [](auto& o) { 0.5 - o.n; });
  expect("mul", "2.5", [](auto& o) { o.n * 2.5; });
  expect("div", "3000000000", [](auto& o) { o.n / 3000000000; });
  expect("max", "1.5", [](auto& o) { maximum(o.n, 1.5); });
  expect("min", "inf", [](auto& o) { minimum(o.n, std::numeric_limits<double>::infinity()); });
  expect("eq", "2.5", [](auto& o) { equal(o.n, 2.5); });
  expect("ne", "2.5", [](auto& o) { not_equal(o.n, 2.5); });
  expect("lt", "2.5", [](auto& o) { o.n < 2.5; });
  expect("le", "2.5", [](auto& o) { o.n <= 2.5; });
  expect("gt", "2.5", [](auto& o) { o.n > 2.5; });
  expect("ge", "2.5", [](auto& o) { o.n >= 2.5; });
  expect("select", "nan", [](auto& o) { select(o.n > 0, o.n, std::nan("")); });
  expect("select", "0.5", [](auto& o) { select(o.n > 0, 0.5, o.n); });
  expect("clamp", "0.5", [](auto& o) { clamp(0.5, o.n, 1); });
  expect("clamp", "1.5", [](auto& o) { clamp(0, o.n, 1.5); });
  expect("pad", "0.5", [](auto& o) { pad(o.n, 0.5, {1}, {1}); });
  expect("pad", "0.5", [](auto& o) { pad_in_dim(o.n, 0, 1, 1, 0.5); });
  expect("full_like", "0.5", [](auto& o) { full_like(o.n, 0.5); });
  expect("unique", "0.5", [](auto& o) { unique(o.n, 4, 0.5); });
  expect("gather", "0.5",
         [](auto& o) { take(o.n, o.n, 0, {.mode = GatherMode::kFill, .fill = 0.5}); });
  const auto bytes = [](auto& o) { return astype(o.n, DType::kI8); };
  expect_errors({
      {"shift_left: expected a whole number in the range of i8, got 200; operands: i8[4] of",
       [&](auto& o) { bytes(o) << 200; }},
      {"shift_right_arithmetic: expected a whole number in the range of i8, got 200",
       [&](auto& o) { bytes(o) >> 200; }},
      {"full: expected a whole number in the range of i32, got 0.5",
       [](auto&) { full({2}, 0.5, DType::kI32); }},
      {"scalar: expected a whole number in the range of u8, got -1",
       [](auto&) { scalar(-1, DType::kU8); }},
      {"quantile: expected floats", [](auto& o) { quantile(o.n, 0.5); }},
  });
}

TEST(BadInputOfOps, WindowsNameEachDimAtMostOnce) {
  const auto gathered = [](const Operands& o, const GatherDims& dims) {
    gather(o.x, o.n, dims, {1, 1});
  };
  expect_errors({
      {"gather: expected collapsed to name dims from 0 to 1 at most once, got [0, 0]",
       [&](auto& o) {
         gathered(o, {.collapsed = {0, 0}, .index_map = {0}, .index_vector_dim = 1});
       }},
      {"gather: expected index_map to name dims from 0 to 1 at most once, got [0, 2]",
       [&](auto& o) {
         gathered(o, {.collapsed = {0, 1}, .index_map = {0, 2}, .index_vector_dim = 1});
       }},
      {"gather: expected operand_batch without dims of collapsed and index_map, got [0], [0] and "
       "[1]",
       [&](auto& o) {
         gathered(o, {.collapsed = {0},
                      .operand_batch = {0},
                      .indices_batch = {0},
                      .index_map = {1},
                      .index_vector_dim = 1});
       }},
      {"gather: expected indices_batch to name dims from 0 to 0 at most once, got [1]",
       [&](auto& o) {
         gathered(o, {.collapsed = {1},
                      .operand_batch = {0},
                      .indices_batch = {1},
                      .index_map = {1},
                      .index_vector_dim = 1});
       }},
      {"gather: expected an index_map of 1 dims, one for each component of a position, got [0, 1]",
       [&](auto& o) {
         gathered(o, {.collapsed = {0, 1}, .index_map = {0, 1}, .index_vector_dim = 1});
       }},
      {"scatter: expected index_map to name dims from 0 to 1 at most once, got [7]",
       [&](auto& o) {
         scatter(o.x, o.n, o.n, {.collapsed = {0, 1}, .index_map = {7}, .index_vector_dim = 1},
                 {.mode = ScatterMode::kClip});
       }},
      {"scatter: expected offset dims that ascend from 0 to 1, got [9]",
       [&](auto& o) {
         scatter(o.x, o.n, o.x,
                 {.offset = {9}, .collapsed = {0}, .index_map = {0}, .index_vector_dim = 1});
       }},
  });
}

TEST(BadInputOfOps, NumberFormatsMustExist) {
  expect_errors({
      {"reduce_precision: expected 1 to 11 exponent bits and 0 to 52 mantissa bits, got -1 and 3; "
       "operands: f32[2, 3] of",
       [](auto& o) { reduce_precision(o.x, -1, 3); }},
      {"reduce_precision: expected 1 to 11 exponent bits and 0 to 52 mantissa bits, got 0 and 3",
       [](auto& o) { reduce_precision(o.x, 0, 3); }},
      {"reduce_precision: expected 1 to 11 exponent bits and 0 to 52 mantissa bits, got 8 and -1",
       [](auto& o) { reduce_precision(o.x, 8, -1); }},
      {"reduce_precision: expected 1 to 11 exponent bits and 0 to 52 mantissa bits, got 99 and 99",
       [](auto& o) { reduce_precision(o.x, 99, 99); }},
      {"bitcast_convert: expected a last dim of 2 to make i8, got i4[2, 3]",
       [](auto& o) { bitcast_convert(astype(astype(o.x, DType::kI8), DType::kI4), DType::kI8); }},
  });
}

TEST(BadInputOfOps, SamplersCheckTheirNumbers) {
  using namespace random;
  const auto key = [] { return random_key(0); };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  expect_errors({
      {"random::split: expected a number of keys of at least 0, got -1; operands: u32[2] of",
       [&](auto&) { random::split(key(), -1); }},
      {"random::split: expected a number of keys of at least 0, got -1",
       [&](auto&) { split_each(key(), -1); }},
      {"random::normal: expected sizes of at least 0, got [2, -1]; operands: u32[2] of",
       [&](auto&) {
         normal(key(), {2, -1});
       }},
      {"random::uniform: expected low <= high, got low = 2 and high = -2",
       [&](auto&) { uniform(key(), {3}, DType::kF32, 2, -2); }},
      {"random::uniform: expected low <= high, got low = nan and high = 1",
       [&](auto&) { uniform(key(), {3}, DType::kF32, kNan, 1); }},
      {"random::truncated_normal: expected low < high and a number of f32 between them, got low = "
       "2 and high = -2",
       [&](auto&) { truncated_normal(key(), {3}, 2, -2); }},
      {"random::truncated_normal: expected low < high and a number of f32 between them, got low = "
       "1 and high = 1",
       [&](auto&) { truncated_normal(key(), {3}, 1, 1); }},
      {"random::permutation: expected a number of integers of at least 0, got -1",
       [&](auto&) { permutation(key(), -1); }},
      {"random::choice: expected a number of indices to draw from of at least 1, got 0",
       [&](auto&) { choice(key(), 0, {3}); }},
      {"random::choice: expected a number of indices to draw from of at least 1, got 0",
       [&](auto&) { choice(key(), zeros({0}), {3}); }},
      {"random::choice: expected at most 2 draws without replacement, got 3",
       [&](auto&) { choice(key(), 2, {3}, Replacement::kWithout); }},
      {"random::categorical: expected sizes of at least 0, got [-1]",
       [&](auto& o) { categorical(key(), o.x, -1, {-1}); }},
  });
}

// Samplers are made of other samplers, which an error does not name.
TEST(BadInputOfOps, ErrorsNameTheSamplerThatWasCalled) {
  using namespace random;
  const auto key = [] { return random_key(0); };
  const auto f64 = [] { return scalar(1, DType::kF64); };
  using OfDtype = Tensor (*)(const Key&, const Shape&, DType);
  const std::pair<const char*, OfDtype> of_dtype[] = {
      {"normal", normal},   {"exponential", exponential}, {"gumbel", gumbel},
      {"laplace", laplace}, {"logistic", logistic},       {"cauchy", cauchy},
      {"maxwell", maxwell},
  };
  for (const auto& [name, sampler] : of_dtype) {
    EXPECT_EQ(error_of_call([&](auto&) { sampler(key(), {3}, DType::kI32); }),
              fmt::format("the top level: random::{}: expected a floating-point dtype, got i32; "
                          "operands: u32[2] of the top level (constant)",
                          name));
    EXPECT_THAT(error_of_call([&](auto&) { sampler(random::split(key(), 3), {3}, DType::kF32); }),
                StartsWith(fmt::format("the top level: random::{}: expected one key", name)));
  }
  using OfTensor = Tensor (*)(const Key&, const Shape&, const Tensor&);
  const std::tuple<const char*, const char*, OfTensor> of_tensor[] = {
      {"pareto", "b", pareto}, {"lognormal", "sigma", lognormal}, {"rayleigh", "scale", rayleigh},
      {"wald", "mean", wald},  {"bernoulli", "p", bernoulli},
  };
  for (const auto& [name, parameter, sampler] : of_tensor) {
    EXPECT_EQ(error_of_call([&, s = sampler](auto& o) { s(key(), {4}, o.n); }),
              fmt::format("the top level: random::{}: expected a floating-point {}, got i32[4]; "
                          "operands: i32[4] of the top level (parameter)",
                          name, parameter));
    EXPECT_EQ(error_of_call([&, s = sampler](auto& o) {
                s(key(), {3, 2}, o.x);
              }),
              fmt::format("the top level: random::{}: expected {} to broadcast to [3, 2], got "
                          "f32[2, 3]; operands: f32[2, 3] of the top level (parameter)",
                          name, parameter));
  }
  expect_errors({
      {"random::triangular: expected mode in the dtype of left, f32, got f64[]; convert one with "
       "astype; operands: f32[] of",
       [&](auto& o) { triangular(key(), {3}, o.s, f64(), o.s); }},
      {"random::triangular: expected right to broadcast to [3], got f32[2, 3]",
       [&](auto& o) { triangular(key(), {3}, o.s, o.s, o.x); }},
      {"random::weibull_min: expected a floating-point concentration, got i32[4]",
       [&](auto& o) { weibull_min(key(), {4}, o.s, o.n); }},
      {"random::geometric: expected a floating-point p, got i32[4]",
       [&](auto& o) { geometric(key(), {4}, o.n); }},
      {"random::double_sided_maxwell: expected scale in the dtype of loc, f32, got f64[]",
       [&](auto& o) { double_sided_maxwell(key(), {4}, o.s, f64()); }},
      {"random::uniform: expected high to broadcast to [4], got f32[2, 3]",
       [&](auto& o) { uniform(key(), {4}, o.s, o.x); }},
      {"random::truncated_normal: expected a floating-point dtype, got u8",
       [&](auto&) { truncated_normal(key(), {4}, -1, 1, DType::kU8); }},
      {"random::rademacher: expected sizes of at least 0, got [-4]",
       [&](auto&) { rademacher(key(), {-4}); }},
      {"random::randint: expected sizes of at least 0, got [-4]",
       [&](auto&) { randint(key(), {-4}, 0, 9); }},
      {"random::randint: expected bounds of one dtype, got i32 and i8",
       [&](auto& o) { randint(key(), {4}, o.n, scalar(3, DType::kI8)); }},
      {"random::categorical: expected a floating-point dtype, got i32",
       [&](auto& o) { categorical(key(), o.n); }},
      {"random::multivariate_normal: expected a mean [.., n] and a factor [.., n, n] of one dtype",
       [&](auto&) {
         multivariate_normal(key(), {}, zeros({2}), zeros({2, 2}, DType::kF64));
       }},
      {"random::multivariate_normal: expected mean to broadcast to [5, 2], got f32[3, 2]",
       [&](auto&) {
         multivariate_normal(key(), {5}, zeros({3, 2}), zeros({2, 2}));
       }},
  });
}

// Each function of one generator refuses the keys of the others.
TEST(BadInputOfOps, KeysAreOfTheGeneratorsKind) {
  using namespace random;
  const auto of = [](PrngImpl impl) { return random_key(0, impl); };
  const auto word = [](DType dtype = DType::kU32) { return zeros({}, dtype); };
  const auto array = [&](PrngImpl impl) { return random::split(of(impl), 3); };
  constexpr auto kThreefry = PrngImpl::kThreefry2x32, kRbg = PrngImpl::kRbg,
                 kUnsafe = PrngImpl::kUnsafeRbg;
  expect_errors({
      {"random::threefry_split: expected a key of threefry2x32, got one of rbg; the functions of "
       "random.h take every kind; operands: u32[4] of",
       [&](auto&) { threefry_split(of(kRbg), 2); }},
      {"random::threefry_fold_in: expected a key of threefry2x32, got one of unsafe_rbg",
       [&](auto&) { threefry_fold_in(of(kUnsafe), word(), word()); }},
      {"random::threefry_bits: expected a key of threefry2x32, got one of rbg",
       [&](auto&) { threefry_bits(of(kRbg), 32, {2}); }},
      {"random::rbg_split: expected a key of rbg or unsafe_rbg, got one of threefry2x32",
       [&](auto&) { rbg_split(of(kThreefry), 2); }},
      {"random::rbg_fold_in: expected a key of rbg or unsafe_rbg, got one of threefry2x32",
       [&](auto&) { rbg_fold_in(of(kThreefry), word(), word()); }},
      {"random::rbg_bits: expected a key of rbg or unsafe_rbg, got one of threefry2x32",
       [&](auto&) { rbg_bits(of(kThreefry), 32, {2}); }},
      {"random::threefry_bits: expected one key, got an array of keys [3]; draw with each under "
       "vmap",
       [&](auto&) { threefry_bits(array(kThreefry), 32, {2}); }},
      {"random::rbg_split: expected one key, got an array of keys [3]",
       [&](auto&) { rbg_split(array(kRbg), 2); }},
      {"random::threefry_fold_in: expected two words u32[], got u32[] and i32[]",
       [&](auto&) { threefry_fold_in(of(kThreefry), word(), word(DType::kI32)); }},
      {"random::rbg_fold_in: expected two words u32[], got i32[] and u32[]",
       [&](auto&) { rbg_fold_in(of(kUnsafe), word(DType::kI32), word()); }},
      {"random::threefry_bits: expected 8, 16, 32 or 64 bits, got 0",
       [&](auto&) { threefry_bits(of(kThreefry), 0, {2}); }},
      {"random::rbg_bits: expected sizes of at least 0, got [-2]",
       [&](auto&) { rbg_bits(of(kRbg), 32, {-2}); }},
      {"random::rbg_split: expected a number of keys of at least 0, got -1",
       [&](auto&) { rbg_split(of(kUnsafe), -1); }},
  });
}

}  // namespace
}  // namespace axle
