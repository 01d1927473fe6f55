// Decompositions: identities, numbers of numpy.linalg, and gradients. The laws over the registry
// test the rows too.
#include "transform/linalg/linalg.h"

#include <gtest/gtest.h>

#include "ops/movement/movement.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/op_samples.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

using testing::check_gradients;
using testing::expect_near;
using testing::random_tensor;
using testing::relative_difference;

HostTensor run(const std::function<Tensor(const Values&)>& fn,
               const std::vector<HostTensor>& arguments) {
  return eval([&](const Values& v) { return Values{fn(v)}; }, arguments)[0];
}

constexpr double kInf = std::numeric_limits<double>::infinity();
const HostTensor kSymmetric({3, 3}, {4.0, 2.0, -1.0, 2.0, 5.0, 1.0, -1.0, 1.0, 3.0});
const HostTensor kTall({3, 2}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});

Tensor definite(const Tensor& x) {
  return matmul(x, transposed(x)) + eye(x.dim(-2), x.dim(-2), 0, x.dtype());
}

TEST(Cholesky, AMatrixHasTheKnownFactor) {
  const HostTensor expected({3, 3}, {2.0, 0.0, 0.0, 1.0, 2.0, 0.0, -0.5, 0.75, 1.479019945774904});
  expect_near(run([](const Values& v) { return cholesky(v[0]); }, {kSymmetric}), expected, 1e-14);
}

// jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a) * weights))(symmetric)
TEST(Cholesky, HasTheGradientOfJax) {
  const HostTensor weights({3, 3}, {1.0, 0.0, 0.0, 2.0, 3.0, 0.0, -1.0, 2.0, 1.0});
  const HostTensor expected({3, 3}, {0.017832115, 0.28828675, -0.35209799, 0.28828675, 0.61003995,
                                     0.37322688, -0.35209799, 0.37322688, 0.33806169});
  const auto loss = [&](const Values& v) {
    return Values{sum(cholesky(v[0]) * constant(weights))};
  };
  const auto gradient = [&](const Values& v) { return value_and_grad(loss, v).second; };
  expect_near(eval(gradient, {kSymmetric})[0], expected, 1e-6);
}

TEST(Cholesky, TheFactorTimesItsTransposeIsTheMatrix) {
  for (const int64_t n : {1, 2, 7, 20}) {
    const HostTensor x = random_tensor({DType::kF32, {2, 3, n, n}}, 5).astype(DType::kF32);
    const HostTensor a = run([](const Values& v) { return definite(v[0]); }, {x});
    const auto l = [](const Values& v) { return cholesky(v[0]); };
    const HostTensor product =
        run([&](const Values& v) { return matmul(l(v), transposed(l(v))); }, {a});
    EXPECT_LT(relative_difference(product, a), 1e-6) << n;
    EXPECT_EQ(run(l, {a}), run([&](const Values& v) { return tril(l(v)); }, {a})) << n;
  }
}

TEST(Cholesky, AnIndefiniteMatrixGivesNaNFromThereOn) {
  const HostTensor l = run([](const Values& v) { return cholesky(v[0]); },
                           {HostTensor({2, 2}, {4.f, 2.f, 2.f, -1.f})});
  EXPECT_EQ(l.at(0), 2);
  EXPECT_EQ(l.at(2), 1);
  EXPECT_TRUE(std::isnan(l.at(3)));
}

TEST(TriangularSolve, SolvesEveryKindOfEquation) {
  const HostTensor a = random_tensor({DType::kF64, {2, 5, 5}}, 1),
                   b = random_tensor({DType::kF64, {2, 5, 3}}, 2);
  for (unsigned bits = 0; bits < 16; ++bits) {
    const TriangularSolveOptions options{.lower = (bits & 1) != 0,
                                         .transpose = (bits & 2) != 0,
                                         .unit_diagonal = (bits & 4) != 0,
                                         .left_side = (bits & 8) != 0};
    SCOPED_TRACE(bits);
    const HostTensor back = run(
        [&](const Values& v) {
          const Tensor full = v[0] + 2 * eye(5, 5, 0, DType::kF64);
          const int64_t k = options.unit_diagonal ? 1 : 0;
          Tensor m = options.lower ? tril(full, -k) : triu(full, k);
          if (options.unit_diagonal) m = m + eye(5, 5, 0, DType::kF64);
          if (options.transpose) m = transposed(m);
          const Tensor rhs = options.left_side ? v[1] : transposed(v[1]);
          const Tensor x = triangular_solve(full, rhs, options);
          return options.left_side ? matmul(m, x) : transposed(matmul(x, m));
        },
        {a, b});
    expect_near(back, b, 1e-12);
  }
}

TEST(TriangularSolve, IgnoresTheOtherTriangle) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const HostTensor x =
      run([](const Values& v) { return triangular_solve(v[0], v[1]); },
          {HostTensor({2, 2}, {2.f, nan, 1.f, 4.f}), HostTensor({2, 1}, {2.f, 9.f})});
  EXPECT_EQ(x, HostTensor({2, 1}, {1.f, 2.f}));
}

TEST(Qr, ATallMatrixHasTheKnownFactors) {
  const auto y = eval(
      [](const Values& v) {
        const auto [q, r] = qr(v[0]);
        return Values{q, r};
      },
      {kTall});
  expect_near(y[0],
              HostTensor({3, 2}, {-0.16903085094570325, 0.8970852271450607, -0.50709255283711,
                                  0.27602622373694136, -0.8451542547285166, -0.34503277967117696}),
              1e-14);
  expect_near(y[1],
              HostTensor({2, 2}, {-5.916079783099616, -7.437357441610946, 0.0, 0.828078671210825}),
              1e-14);
}

TEST(Qr, AWideMatrixHasTheKnownFactors) {
  const auto y = eval(
      [](const Values& v) {
        const auto [q, r] = qr(transposed(v[0]));
        return Values{q, r};
      },
      {kTall});
  expect_near(y[0],
              HostTensor({2, 2}, {-0.44721359549995787, -0.8944271909999157, -0.8944271909999157,
                                  0.4472135954999581}),
              1e-14);
  expect_near(y[1],
              HostTensor({2, 3}, {-2.23606797749979, -4.919349550499537, -7.602631123499284, 0.0,
                                  -0.8944271909999149, -1.7888543819998306}),
              1e-14);
}

TEST(Qr, HasOrthonormalColumnsAndATriangle) {
  for (const Shape& shape : {Shape{2, 9, 4}, Shape{6, 6}, Shape{3, 7}, Shape{1, 1}, Shape{5, 1}}) {
    SCOPED_TRACE(to_text(shape));
    const HostTensor x = random_tensor({DType::kF32, shape}, 4).astype(DType::kF32);
    const auto y = eval(
        [](const Values& v) {
          const auto [q, r] = qr(v[0]);
          return Values{matmul(q, r), matmul(transposed(q), q), r, triu(r)};
        },
        {x});
    EXPECT_LT(relative_difference(y[0], x), 2e-6);
    const int64_t k = y[1].shape().back();
    const HostTensor ones =
        run([&](const Values& v) { return zeros_like(v[0]) + eye(k, k); }, {y[1]});
    expect_near(y[1], ones, 2e-6);
    EXPECT_EQ(y[2], y[3]);
  }
}

// The reflection of a column that is zero below the diagonal is none.
TEST(Qr, ATriangleAndZerosHaveFactors) {
  const auto r_of = [](const Values& v) { return qr(v[0]).second; };
  const HostTensor triangle({2, 2}, {-3.f, 2.f, 0.f, 5.f}), nothing = HostTensor::zeros({3, 2});
  EXPECT_EQ(run(r_of, {triangle}), triangle);
  EXPECT_EQ(run([](const Values& v) { return abs(qr(v[0]).second); }, {nothing}),
            HostTensor::zeros({2, 2}));
}

TEST(Eigh, AMatrixHasTheKnownEigenvalues) {
  const auto y = eval(
      [](const Values& v) {
        const auto [values, vectors] = eigh(v[0]);
        return Values{values, abs(vectors)};
      },
      {kSymmetric});
  expect_near(y[0], HostTensor({3}, {1.2855212556122353, 4.143277321839643, 6.571201422548122}),
              1e-13);
  expect_near(y[1],
              HostTensor({3, 3}, {0.5961550232003939, 0.5341269702988659, 0.5994226955265312,
                                  0.49183141821964516, 0.3471550341069961, 0.7984893476723546,
                                  0.6345873023981732, 0.7708383500407364, 0.05574220789926365}),
              1e-13);
}

TEST(Eigh, DecomposesTheMatrix) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{2, 2}, Shape{3, 3}, Shape{2, 8, 8}, Shape{25, 25}}) {
    SCOPED_TRACE(to_text(shape));
    const HostTensor x = run([](const Values& v) { return symmetrized(v[0]); },
                             {random_tensor({DType::kF32, shape}, 6).astype(DType::kF32)});
    const auto y = eval(
        [](const Values& v) {
          const auto [values, vectors] = eigh(v[0]);
          return Values{matmul(vectors * expand_dims(values, -2), transposed(vectors)),
                        matmul(transposed(vectors), vectors), values, sort(values)};
        },
        {x});
    EXPECT_LT(relative_difference(y[0], x), 1e-5);
    const int64_t n = shape.back();
    const HostTensor ones =
        run([&](const Values& v) { return zeros_like(v[0]) + eye(n, n); }, {y[1]});
    expect_near(y[1], ones, 1e-5);
    EXPECT_EQ(y[2], y[3]);
  }
}

TEST(Eigh, ADiagonalMatrixIsExact) {
  const HostTensor x({3, 3}, {3.f, 0.f, 0.f, 0.f, -1.f, 0.f, 0.f, 0.f, 2.f});
  EXPECT_EQ(run([](const Values& v) { return eigh(v[0]).first; }, {x}),
            HostTensor({3}, {-1.f, 2.f, 3.f}));
}

const HostTensor kTwoEqual({3, 3}, {2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -1.0});

HostTensor gradient_at_equal(const std::function<Tensor(const Tensor&)>& loss) {
  const auto gradient = [&](const Values& v) {
    return value_and_grad([&](const Values& x) { return Values{loss(x[0])}; }, v).second;
  };
  return eval(gradient, {kTwoEqual})[0];
}

// The sum of the cubes of the eigenvalues is the trace of x^3. Its gradient is 3 x^2.
TEST(Eigh, EqualEigenvaluesHaveTheGradientOfTheirSums) {
  const HostTensor expected({3, 3}, {12.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 3.0});
  expect_near(gradient_at_equal([](const Tensor& x) { return sum(integer_pow(eigh(x).first, 3)); }),
              expected, 1e-12);
}

// The projection P on the eigenspace of 2 moves by (P dx (1 - P) + (1 - P) dx P) / (2 - -1).
TEST(Eigh, EqualEigenvaluesHaveTheGradientOfTheirEigenspace) {
  const HostTensor weights({3, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 7.0});
  const double a = (3.0 + 1.0) / 2 / 3, b = (6.0 + 2.0) / 2 / 3;
  const HostTensor expected({3, 3}, {0.0, 0.0, a, 0.0, 0.0, b, a, b, 0.0});
  expect_near(gradient_at_equal([&](const Tensor& x) {
                const Tensor space = slice_in_dim(eigh(x).second, 1, 1, 3);
                return sum(matmul(space, transposed(space)) * constant(weights));
              }),
              expected, 1e-12);
}

TEST(Solve, SolvesEquations) {
  const auto x = eval(
      [](const Values& v) {
        return Values{solve(v[0], v[1]), cho_solve(cholesky(v[0]), v[1]), inverse(v[0])};
      },
      {kSymmetric, kTall});
  const HostTensor expected({3, 2}, {0.8, 1.2, -0.11428571428571421, -0.17142857142857126,
                                     1.9714285714285713, 2.457142857142857});
  expect_near(x[0], expected, 1e-13);
  expect_near(x[1], expected, 1e-13);
  expect_near(x[2],
              HostTensor({3, 3}, {0.4, -0.2, 0.2, -0.2, 0.3142857142857143, -0.17142857142857143,
                                  0.2, -0.17142857142857143, 0.45714285714285713}),
              1e-13);
}

TEST(Solve, HasGradients) {
  const HostTensor a = random_tensor({DType::kF32, {2, 3, 3}}, 1, 0.3),
                   b = random_tensor({DType::kF32, {2, 3, 2}}, 2);
  const auto shifted = [](const Tensor& x) { return x + 2 * eye(3, 3, 0, x.dtype()); };
  check_gradients([&](const Values& v) { return Values{solve(shifted(v[0]), v[1])}; }, {a, b});
  check_gradients(
      [&](const Values& v) { return Values{cho_solve(cholesky(definite(v[0])), v[1])}; }, {a, b});
  check_gradients([&](const Values& v) { return Values{inverse(shifted(v[0]))}; }, {a});
}

TEST(MatrixNorm, AMatrixHasTheKnownNorms) {
  const std::pair<MatrixNorm, double> cases[] = {{MatrixNorm::kFrobenius, 9.539392014169456},
                                                 {MatrixNorm::kOne, 12},
                                                 {MatrixNorm::kInfinity, 11},
                                                 {MatrixNorm::kTwo, 9.525518091565107}};
  for (const auto& [norm, expected] : cases) {
    const auto fn = [norm = norm](const Values& v) {
      return Values{matrix_norm(v[0], norm), matrix_norm(-transposed(v[0]), norm)};
    };
    const auto y = eval(fn, {kTall});
    EXPECT_NEAR(y[0].at(0), expected, 1e-12);
    const bool swaps = norm == MatrixNorm::kOne || norm == MatrixNorm::kInfinity;
    EXPECT_NEAR(y[1].at(0), swaps ? 23 - expected : expected, 1e-12);
    check_gradients(fn, {kTall});
  }
}

// jnp.linalg.vector_norm(x, ord, axis)
TEST(VectorNorm, VectorsHaveTheKnownNorms) {
  const HostTensor x({2, 3}, {3.0, -4.0, 0.0, -1.0, 2.0, 2.0});
  const std::pair<double, std::vector<double>> cases[] = {
      {2, {5, 3}},
      {1, {7, 5}},
      {3, {4.497941445275415, 2.571281590658235}},
      {0.5, {13.92820323027551, 14.65685424949238}},
      {0, {2, 3}},
      {-1, {0, 0.5}},
      {kInf, {4, 2}},
      {-kInf, {0, 1}}};
  for (const auto& [p, expected] : cases) {
    SCOPED_TRACE(p);
    const auto norm = [p = p](const Values& v) { return vector_norm(v[0], {-1}, p); };
    const auto kept = [p = p](const Values& v) { return vector_norm(v[0], {1}, p, true); };
    const HostTensor y = run(norm, {x});
    expect_near(y, HostTensor({2}, std::span<const double>(expected)), 1e-12);
    EXPECT_EQ(run(kept, {x}), y.reshaped({2, 1}));
  }
  const HostTensor whole = run([](const Values& v) { return vector_norm(v[0], {0, 1}); }, {x});
  EXPECT_NEAR(whole.at(0), std::sqrt(34), 1e-12);
}

TEST(VectorNorm, HasGradientsAlsoOfZeros) {
  for (const double p : {1.0, 2.0, 2.5, -2.0, kInf, -kInf}) {
    check_gradients([p](const Values& v) { return Values{vector_norm(v[0], {-1}, p)}; }, {kTall});
  }
  for (const double p : {2.0, 3.0}) {
    const auto gradient = [p](const Values& v) {
      const auto norm = [p](const Values& x) { return Values{vector_norm(x[0], {0}, p)}; };
      return value_and_grad(norm, v).second;
    };
    EXPECT_EQ(eval(gradient, {HostTensor::zeros({3})})[0], HostTensor::zeros({3}));
  }
}

TEST(VectorNorm, ComplexSpecialAndNoNumbersHaveNorms) {
  const auto length = [](const Values& v) { return vector_norm(complex(v[0], v[1])); };
  EXPECT_EQ(run(length, {HostTensor({1}, {3.f}), HostTensor({1}, {-4.f})}), HostTensor({}, {5.f}));
  for (const double p : {0.5, 1.0, 2.0, 3.0, kInf, -kInf}) {
    const HostTensor y = run([p](const Values& v) { return vector_norm(v[0], {0}, p); },
                             {HostTensor({2}, {1.f, std::nanf("")})});
    EXPECT_TRUE(std::isnan(y.at(0))) << p;
  }
  EXPECT_EQ(run([](const Values& v) { return vector_norm(v[0], {0}, kInf); },
                {HostTensor::zeros({0, 2})}),
            HostTensor::zeros({2}));
  EXPECT_TRUE(std::isnan(
      run([](const Values& v) { return matrix_norm(v[0]); }, {HostTensor({1, 1}, {std::nanf("")})})
          .at(0)));
}

TEST(VectorNorm, SaysWhatItExpects) {
  const auto error = [](DType dtype, double p) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return Values{vector_norm(v[0], {0}, p)}; }, {{dtype, {2}}});
    });
  };
  EXPECT_EQ(error(DType::kI32, 2),
            "the top level: vector_norm: expected floating-point or complex numbers; operands: "
            "i32[2] of the top level (parameter)");
  EXPECT_EQ(error(DType::kF32, std::nan("")),
            "the top level: vector_norm: expected a number p, got nan; operands: f32[2] of the top "
            "level (parameter)");
}

TEST(MatrixNorm, ZerosHaveAGradientOfZeros) {
  const auto gradient = [](const Values& v) {
    return value_and_grad([](const Values& x) { return Values{matrix_norm(x[0])}; }, v).second;
  };
  EXPECT_EQ(eval(gradient, {HostTensor::zeros({2, 2})})[0], HostTensor::zeros({2, 2}));
}

TEST(Linalg, SaysWhatItExpects) {
  const auto error = [](const Shape& shape, DType dtype, Tensor (*f)(const Tensor&)) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return Values{f(v[0])}; }, {{dtype, shape}});
    });
  };
  EXPECT_EQ(error({2, 3}, DType::kF32, cholesky),
            "the top level: cholesky: expected square matrices, got [2, 3]; operands: f32[2, 3] of "
            "the top level (parameter)");
  EXPECT_EQ(error({4}, DType::kF32, inverse),
            "the top level: inverse: expected square matrices, got [4]; operands: f32[4] of the "
            "top level (parameter)");
  EXPECT_EQ(error({2, 2}, DType::kBF16, [](const Tensor& x) { return qr(x).first; }),
            "the top level: qr: expected matrices of f32 or f64, got bf16; convert with astype; "
            "operands: bf16[2, 2] of the top level (parameter)");
  EXPECT_EQ(error({0, 0}, DType::kF32, [](const Tensor& x) { return eigh(x).first; }),
            "the top level: eigh: expected [.., m, n] with m, n > 0, got [0, 0]; operands: "
            "f32[0, 0] of the top level (mul)");
  EXPECT_EQ(error({2, 2}, DType::kF32,
                  [](const Tensor& x) { return triangular_solve(x, slice_in_dim(x, 0, 0, 1)); }),
            "the top level: triangular_solve: expected b of f32[2, 2] to solve with a of f32[2, "
            "2], got f32[1, 2]; operands: f32[2, 2] of the top level (parameter), f32[1, 2] of the "
            "top level (slice)");
}

}  // namespace
}  // namespace axle
