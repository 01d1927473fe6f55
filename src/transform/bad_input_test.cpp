// What the errors of wrong programs say, with the lines of the source that they name.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/random/samplers.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::string at(int line) { return fmt::format("src/transform/bad_input_test.cpp:{}", line); }

constexpr int kTraced = __LINE__ + 2;
void traced(const TensorFunction& fn, const std::vector<Type>& types) {
  trace(fn, types, {"x", "y"});
}
const Type kPair{DType::kF32, {2}};

TEST(BadInput, ShapeErrorsNameTheOpAndItsOperandsWithLayersAndLines) {
  int first = 0, second = 0;
  const auto fn = [&](const Values& v) {
    const NameScope decoder("decoder");
    first = __LINE__ + 1;
    const Tensor halves = v[0] * 0.5;
    const NameScope projection("decoder/q_proj");
    second = __LINE__ + 1;
    return Values{dot(halves, v[1])};
  };
  const std::string error = error_of<ShapeError>([&] {
    traced(fn, {kPair, {DType::kF32, {3, 4}}});
  });
  EXPECT_EQ(error,
            fmt::format("decoder/q_proj: dot_general at {}: contracting dims differ, a[0] = 2 "
                        "and y[0] = 3; operands: f32[2] of decoder (mul at {}), f32[3, 4] of y "
                        "(parameter at {})",
                        at(second), at(first), at(kTraced)));
}

TEST(BadInput, NumbersThatDoNotFitNameTheOpWithItsLayerAndLine) {
  int made = 0, called = 0;
  const auto fn = [&](const Values& v) {
    const NameScope decoder("decoder");
    made = __LINE__ + 1;
    const Tensor bytes = astype(v[0], DType::kU8);
    const NameScope gate("decoder/gate");
    called = __LINE__ + 1;
    return Values{bytes * 2.5};
  };
  const std::string error = error_of<ShapeError>([&] { traced(fn, {kPair}); });
  EXPECT_EQ(error, fmt::format("decoder/gate: mul at {}: expected a whole number in the range of "
                               "u8, got 2.5; operands: u8[2] of decoder (convert at {})",
                               at(called), at(made)));
}

TEST(BadInput, TensorsHaveAtMost64Dims) {
  const auto ones = [](size_t rank) { return Shape(rank, 1); };
  const auto to_rank = [&](size_t rank) {
    return [&, rank](const Values& v) { return Values{reshape(v[0], ones(rank))}; };
  };
  EXPECT_NO_THROW(traced(to_rank(64), {{DType::kF32, {1}}}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                traced(to_rank(65), {{DType::kF32, {1}}});
              }),
              HasSubstr(": expected at most 64 dims, got 65; operands: f32[1]"));
  EXPECT_EQ(error_of<ShapeError>([&] {
              traced(to_rank(1), {{DType::kF32, ones(5000)}});
            }),
            "x: expected at most 64 dims, got 5000");
}

TEST(BadInput, ErrorsOfEinsumShowItsOperandsWithLayersAndLines) {
  int made = 0, called = 0;
  const auto error = [&](std::string_view spec) {
    const auto fn = [&](const Values& v) {
      const NameScope decoder("decoder");
      made = __LINE__ + 1;
      const Tensor halves = v[0] * 0.5;
      called = __LINE__ + 1;
      return Values{einsum(spec, halves, v[1])};
    };
    return error_of<ShapeError>([&] { traced(fn, {kPair, {DType::kF32, {3, 4}}}); });
  };
  const std::pair<const char*, const char*> rows[] = {
      {"i,ij->j", "the sizes of 'i' differ, 2 in operand 0 ('i') and 3 in operand 1 ('ij')"},
      {"i,ij", "the sizes of 'i' differ, 2 in operand 0 ('i') and 3 in operand 1 ('ij')"},
      {"...,...",
       "the sizes of '... -1' differ, 2 in operand 0 ('...') and 4 in operand 1 ('...')"},
      {"i->i", "expected 1 operand, got 2"},
      {"i,ij,j->", "expected 3 operands, got 2"},
      {"ij,jk->ik", "'ij' names 2 dims of operand 0, got 1"},
      {"i,...ijk", "'...ijk' names 3 dims or more of operand 1, got 2"},
      {"i,jj->i", "the sizes of 'j' differ, 3 in operand 1 ('jj') and 4 in operand 1 ('jj')"},
      {"i,jk->iz", "'z' of the result is in no operand"},
      {"i,jk->ii", "'i' occurs twice in the result 'ii'"},
      {"i,jk->i,k", "expected letters or '...' in 'i,k', got ','"},
      {"i,jk->i->k", "expected letters or '...' in 'i->k', got '-'"},
      {"i,..jk->k", "expected letters or '...' in '..jk', got '.'"},
      {"......,jk->k", "expected one '...' in '......', got two"},
      {"i,j1->i", "expected letters or '...' in 'j1', got '1'"},
  };
  for (const auto& [spec, what] : rows) {
    const std::string text = error(spec);
    EXPECT_EQ(text, fmt::format("decoder: einsum \"{}\" at {}: {}; operands: f32[2] of decoder "
                                "(mul at {}), f32[3, 4] of y (parameter at {})",
                                spec, at(called), what, at(made), at(kTraced)));
  }
}

TEST(BadInput, CollectivesOutsideAShardMapSayWhereTheyBelong) {
  using Collective = Tensor (*)(const Tensor& x);
  const std::pair<const char*, Collective> rows[] = {
      {"psum", [](const Tensor& x) { return psum(x, {"data"}); }},
      {"pmean", [](const Tensor& x) { return pmean(x, {"data"}); }},
      {"pmax", [](const Tensor& x) { return pmax(x, {"data"}); }},
      {"pmin", [](const Tensor& x) { return pmin(x, {"data"}); }},
      {"all_gather", [](const Tensor& x) { return all_gather(x, {"data"}, 0); }},
      {"reduce_scatter", [](const Tensor& x) { return reduce_scatter(x, {"data"}, 0); }},
      {"all_to_all", [](const Tensor& x) { return all_to_all(x, {"data"}, 0, 0); }},
      {"ppermute", [](const Tensor& x) { return ppermute(x, {"data"}, {}); }},
  };
  const std::string_view what =
      "expected an axis that an enclosing shard_map makes manual (there is none), got 'data'; call "
      "it inside shard_map over this axis";
  for (const auto& [name, collective] : rows) {
    int made = 0, called = 0;
    const auto fn = [&, call = collective](const Values& v) {
      const NameScope decoder("decoder");
      made = __LINE__ + 1;
      const Tensor halves = v[0] * 0.5;
      called = __LINE__ + 1;
      return Values{call(halves)};
    };
    const std::string error = error_without_lines<ShapeError>([&] { traced(fn, {kPair}); });
    EXPECT_EQ(error, fmt::format("decoder: {}: {}; operands: f32[2] of decoder (mul)", name, what));
    const std::string with_lines = error_of<ShapeError>([&] { traced(fn, {kPair}); });
    EXPECT_THAT(with_lines, HasSubstr(fmt::format("(mul at {})", at(made))));
  }
  const auto error = [](const TensorFunction& fn) {
    return error_without_lines<ShapeError>([&] { traced(fn, {kPair, {DType::kI32, {1}}}); });
  };
  EXPECT_EQ(error([](const Values& v) {
              return Values{ragged_all_to_all(v[0], v[0], {v[1], v[1], v[1], v[1]}, {"data"})};
            }),
            fmt::format("the top level: ragged_all_to_all: {}; operands: f32[2] of x (parameter), "
                        "f32[2] of x (parameter), i32[1] of y (parameter), i32[1] of y "
                        "(parameter), i32[1] of y (parameter), i32[1] of y (parameter)",
                        what));
  EXPECT_EQ(error([](const Values&) { return Values{axis_index({"data"})}; }),
            fmt::format("the top level: axis_index: {}", what));
}

TEST(BadInput, OpsOfTransformsComeFromTheLineOfTheirSource) {
  const int line = __LINE__ + 1;
  const auto fn = [](const Values& v) { return Values{sum(exp(v[0]))}; };
  const auto region = trace(
      [&](const Values& v) {
        const auto each = [&](const Values& x) { return value_and_grad(fn, x).second; };
        return vmap(each, v);
      },
      {{DType::kF32, {3, 2}}});
  size_t count = 0;
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "exp") continue;
    ++count;
    EXPECT_EQ(source_line(op->calls), at(line));
  }
  EXPECT_GT(count, 0u);
}

TEST(BadInput, CarriesOfAScanAreListedByTheirPaths) {
  int made = 0, called = 0;
  const auto fn = [&](const Values& v) {
    const NameScope decoder("decoder");
    const auto body = [&](const Values& c, const Values&) {
      made = __LINE__ + 1;
      const Tensor key = astype(c[0], DType::kBF16), x = reshape(c[2], {2, 1});
      return ScanResult{{key, c[1], x}, {}};
    };
    const ScanOptions options{.names = {"cache/key", "index", "x"}};
    called = __LINE__ + 1;
    return scan(body, {v[0], v[1], v[0]}, {}, 3, options).carry;
  };
  const std::string error = error_of<ShapeError>([&] { traced(fn, {kPair, {DType::kI32, {}}}); });
  EXPECT_EQ(
      error,
      fmt::format("decoder: scan at {}: expected a body that keeps the types of its carry, got "
                  "others; 'cache/key': f32[2] became bf16[2] of decoder (convert at {}), 'x': "
                  "f32[2] became f32[2, 1] of decoder (reshape at {})",
                  at(called), at(made), at(made)));
}

TEST(BadInput, CarriesWithoutNamesAreNumbered) {
  const auto error = [](const ScanBody& body) {
    return error_of<ShapeError>([&] {
      traced([&](const Values& v) { return scan(body, v, {}, 3).carry; }, {kPair, kPair});
    });
  };
  EXPECT_THAT(error([](const Values& c, const Values&) {
                return ScanResult{{c[0]}, {}};
              }),
              HasSubstr("'1': f32[2] is missing"));
  EXPECT_THAT(error([](const Values& c, const Values&) {
                return ScanResult{{c[0], c[1], sum(c[0])}, {}};
              }),
              HasSubstr("'2': f32[] of the top level (reduce_sum at"));
}

TEST(BadInput, ResultsOfBranchesAreListed) {
  int made = 0, called = 0;
  const auto fn = [&](const Values& v) {
    made = __LINE__ + 1;
    const auto summed = [](const Values& x) { return Values{x[0], sum(x[1])}; };
    const auto same = [](const Values& x) { return x; };
    called = __LINE__ + 1;
    return switch_case(scalar(0, DType::kI32), {same, same, summed}, v);
  };
  const std::string error = error_of<ShapeError>([&] { traced(fn, {kPair, kPair}); });
  EXPECT_EQ(error,
            fmt::format("the top level: cond at {}: expected branches whose results have the same "
                        "types, got a branch 2 that differs from branch 0; '1': f32[2] is f32[] of "
                        "the top level (reduce_sum at {})",
                        at(called), at(made)));
}

TEST(BadInput, LeaksNameWhereTheTensorWasMadeAndUsed) {
  Tensor leaked;
  int made = 0, used = 0;
  const auto leak = [&](const Values& v) {
    const NameScope decoder("decoder");
    made = __LINE__ + 1;
    leaked = exp(v[0]);
    return Values{leaked};
  };
  const auto use = [&](const Values& v) {
    const NameScope head("head");
    used = __LINE__ + 1;
    return Values{v[0] + leaked};
  };
  const auto error = [&] { return error_of<InternalError>([&] { traced(use, {kPair}); }); };
  const auto alive = trace(leak, {kPair});
  const std::string of_other_trace = error();
  EXPECT_EQ(of_other_trace,
            fmt::format("head at {}: a tensor leaked out of the trace that made it, got f32[2] of "
                        "decoder (exp at {}); return it from the traced function instead",
                        at(used), at(made)));
  traced(leak, {kPair});
  const std::string of_ended_trace = error();
  EXPECT_EQ(
      of_ended_trace,
      fmt::format("head at {}: a tensor leaked out of the trace that made it, got one of decoder "
                  "(exp at {}), whose trace is over; return it from the traced function instead",
                  at(used), at(made)));
}

TEST(BadInput, WhileLoopsInReverseModeSayWhatToUse) {
  int line = 0;
  const auto fn = [&](const Values& v) {
    const auto small = [](const Values& c) { return c[0] < 9; };
    const auto doubled = [](const Values& c) { return Values{c[0] * 2}; };
    line = __LINE__ + 1;
    return while_loop(small, doubled, v);
  };
  const int differentiated = __LINE__ + 1;
  const auto gradient = [&](const Values& v) { return value_and_grad(fn, v).second; };
  const std::string error = error_of<ShapeError>([&] { traced(gradient, {{DType::kF32, {}}}); });
  EXPECT_EQ(
      error,
      fmt::format("the top level: while at {}: expected a loop with a known number of iterations "
                  "in reverse mode, got a while loop; use scan, fori_loop with bounds that are "
                  "numbers, or bounded_while with max_steps; operands: f32[] of the top level "
                  "(parameter at {})",
                  at(line), at(differentiated)));
}

TEST(BadInput, WrongCotangentsNameTheRule) {
  const auto plus_one = [](const Values& x) { return WithResiduals{{x[0] + 1.0}, {}}; };
  const int rule_line = __LINE__ + 1;
  CustomVjp rule{.name = "shifted", .forward = plus_one, .backward = {}};
  int called = 0;
  const auto fn = [&](const Values& v) {
    called = __LINE__ + 1;
    const Values y = custom_vjp(rule, v);
    return Values{sum(y[0])};
  };
  const int differentiated = __LINE__ + 1;
  const auto gradient = [&](const Values& v) { return value_and_grad(fn, v).second; };
  const auto error = [&] { return error_of<ShapeError>([&] { traced(gradient, {kPair}); }); };
  const int made = __LINE__ + 1;
  rule.backward = [](const Values&, const Values& g) { return Values{sum(g[0])}; };
  const std::string of_type = error();
  EXPECT_EQ(of_type, fmt::format("the top level: custom_vjp at {}: expected a cotangent of f32[2] "
                                 "for argument 0 of shifted ({}), got f32[] of the top level "
                                 "(reduce_sum at {}); operands: f32[2] of the top level "
                                 "(parameter at {})",
                                 at(called), at(rule_line), at(made), at(differentiated)));
  rule.backward = [](const Values&, const Values&) { return Values{}; };
  const std::string of_number = error();
  EXPECT_EQ(of_number,
            fmt::format("the top level: custom_vjp at {}: expected a cotangent for each "
                        "of the 1 arguments of shifted ({}), got 0; operands: f32[2] of the "
                        "top level (parameter at {})",
                        at(called), at(rule_line), at(differentiated)));
}

// The pullback of fn over x f32[2], with these cotangents.
std::string cotangent_error(const TensorFunction& fn,
                            const std::function<Values(const Tensor& x)>& cotangents) {
  return error_without_lines<ShapeError>([&] {
    traced(
        [&](const Values& v) {
          vjp(fn, {v[0]}).pullback(cotangents(v[0]));
          return v;
        },
        {kPair});
  });
}

TEST(BadInput, CotangentsHaveTheTypesOfTheOutputs) {
  const auto total = [](const Values& v) { return Values{sum(v[0])}; };
  EXPECT_EQ(cotangent_error(total, [](const Tensor& x) { return Values{x}; }),
            "the top level: vjp: expected a cotangent of f32[] for output 0, got f32[2] of x "
            "(parameter); operands: f32[] of the top level (reduce_sum)");
  EXPECT_EQ(cotangent_error(total, [](const Tensor&) { return Values{scalar(1, DType::kBF16)}; }),
            "the top level: vjp: expected a cotangent of f32[] for output 0, got bf16[] of the top "
            "level (full); operands: f32[] of the top level (reduce_sum)");
  EXPECT_EQ(cotangent_error(total, [](const Tensor&) { return Values{}; }),
            "the top level: vjp: expected a cotangent for each of 1 outputs, got 0; leave those "
            "that are zero empty; operands: f32[] of the top level (reduce_sum)");
  EXPECT_THAT(cotangent_error(total,
                              [](const Tensor&) {
                                return Values{scalar(1), Tensor()};
                              }),
              HasSubstr("vjp: expected a cotangent for each of 1 outputs, got 2"));
}

TEST(BadInput, IntegersHaveNoDerivative) {
  for (const auto& [name, fn] : {std::pair("argmax", &argmax), std::pair("argmin", &argmin)}) {
    const auto position = [fn = fn](const Values& v) { return Values{fn(v[0], -1)}; };
    EXPECT_EQ(cotangent_error(position, [](const Tensor&) { return Values{scalar(1)}; }),
              fmt::format("the top level: vjp: expected no cotangent for output 0 of i32[], got "
                          "f32[] of the top level (full); integers have no derivative: leave it "
                          "empty; operands: i32[] of the top level ({})",
                          name));
    EXPECT_EQ(cotangent_error(position, [](const Tensor&) { return Values{Tensor()}; }),
              "no error");
    EXPECT_EQ(
        error_without_lines<ShapeError>([&] {
          traced([&](const Values& v) { return value_and_grad(position, v).first; }, {kPair});
        }),
        fmt::format("the top level: value_and_grad: expected a floating-point scalar as first "
                    "output, got i32[] of the top level ({}); integers have no derivative",
                    name));
  }
  const auto same = [](const Values& v) { return v; };
  const auto error = [&](const TensorFunction& fn) {
    return error_without_lines<ShapeError>([&] { traced(fn, {kPair, {DType::kI32, {}}}); });
  };
  EXPECT_EQ(error([&](const Values& v) { return jvp(same, v, v).first; }),
            "the top level: jvp: expected no tangent for argument 1 of i32[], got i32[] of y "
            "(parameter); integers have no derivative: leave it empty; operands: i32[] of y "
            "(parameter)");
  EXPECT_THAT(error([&](const Values& v) { return jvp(same, v, {v[0]}).first; }),
              HasSubstr("jvp: expected a tangent for each of 2 arguments, got 1; leave those that "
                        "are zero empty"));
  EXPECT_THAT(error([&](const Values& v) { return vjp(same, v, {true}).outputs; }),
              HasSubstr("vjp: expected marks of active arguments for all 2 or none, got 1"));
  EXPECT_THAT(error([&](const Values& v) { return value_and_grad(same, {v[0]}).first; }),
              HasSubstr("got f32[2] of x (parameter); reduce it with sum or mean"));
  EXPECT_THAT(error([&](const Values& v) {
                return value_and_grad([](const Values&) { return Values{}; }, v).first;
              }),
              HasSubstr("expected a floating-point scalar as first output, got none"));
}

TEST(BadInput, NumbersOfIterationsAreNotNegative) {
  const auto error = [](const TensorFunction& fn) {
    return error_without_lines<ShapeError>([&] { traced(fn, {kPair}); });
  };
  const auto same = [](const Values& c) { return c; };
  const auto step = [](const Values& c, const Values&) { return ScanResult{c, {}}; };
  EXPECT_EQ(error([&](const Values& v) { return scan(step, v, {}, -1).carry; }),
            "the top level: scan: expected a length of at least 0, got -1; operands: f32[2] of x "
            "(parameter)");
  EXPECT_THAT(error([&](const Values& v) {
                const auto always = [](const Values&) { return scalar(true, DType::kPred); };
                return bounded_while(always, same, v, -1);
              }),
              HasSubstr("bounded_while: expected max_steps of at least 0, got -1"));
  const auto counted = [](int64_t begin, int64_t end) {
    return [=](const Values& v) {
      return fori_loop(
          begin, end, [](const Tensor&, const Values& c) { return c; }, v);
    };
  };
  EXPECT_THAT(error(counted(0, int64_t{1} << 40)),
              HasSubstr("fori_loop: expected bounds in the range of i32, got 0 and 1099511627776"));
  // A loop that ends before it begins has no iterations.
  EXPECT_EQ(error(counted(3, -1)), "no error");
  EXPECT_THAT(error([&](const Values& v) {
                return vmap([&](const Values&) { return v; }, {}, {.axis_size = -1});
              }),
              HasSubstr("vmap: expected an axis_size of at least 0, got -1"));
  EXPECT_THAT(error([&](const Values&) {
                return Values{random::orthogonal(random::random_key(0), {}, -1, 2)};
              }),
              HasSubstr("random::orthogonal: expected a number of rows of at least 1, got -1"));
}

TEST(BadInput, LargeConstantsMustBeArguments) {
  const int line = __LINE__ + 2;
  const auto with = [](int64_t count) {
    return [=](const Values& v) { return Values{v[0] + sum(constant(HostTensor::ones({count})))}; };
  };
  constexpr int64_t kMost = int64_t{1} << 18;
  EXPECT_EQ(error_of<ShapeError>([&] { traced(with(kMost), {kPair}); }), "no error");
  EXPECT_EQ(error_of<ShapeError>([&] { traced(with(kMost + 1), {kPair}); }),
            fmt::format("the top level: constant at {}: expected at most 1048576 bytes, got "
                        "f32[262145] of 1048580 bytes; pass it as an argument",
                        at(line)));
}

}  // namespace
}  // namespace axle
