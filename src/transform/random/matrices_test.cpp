#include "transform/linalg/matrices.h"

#include "base/error.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"
#include "transform/random/samplers.h"

namespace axle {
namespace {

using random::Key;

HostTensor matrices_draw(const std::function<Tensor(const Key&)>& sampler) {
  return testing::run([&](const Values& v) { return sampler(Key::wrap(v[0])); },
                      {random::key_words(42)});
}

// jax.random.orthogonal(jax.random.key(42), 3) of JAX 0.10
TEST(RandomMatrices, OrthogonalIsThatOfJax) {
  const HostTensor x = matrices_draw([](const Key& k) { return random::orthogonal(k, {}, 3, 3); });
  testing::expect_near(
      x,
      HostTensor({3, 3}, {-0.0195297f, 0.99526775f, 0.095189475f, 0.1059439f, -0.09261153f,
                          0.99005f, -0.99418044f, -0.02941984f, 0.103633866f}),
      2e-6);
}

TEST(RandomMatrices, TheShorterSidesAreOrthonormal) {
  const HostTensor wide = matrices_draw([](const Key& k) {
    const Tensor x = random::orthogonal(k, {2}, 3, 5);
    return matmul(x, transposed(x));
  });
  const HostTensor tall = matrices_draw([](const Key& k) {
    const Tensor x = random::orthogonal(k, {2}, 5, 3);
    return matmul(transposed(x), x);
  });
  const HostTensor one = matrices_draw([](const Key&) { return eye(3, 3); });
  for (int64_t i = 0; i < 18; ++i) {
    EXPECT_NEAR(wide.at(i), one.at(i % 9), 1e-6);
    EXPECT_NEAR(tall.at(i), one.at(i % 9), 1e-6);
  }
}

TEST(RandomMatrices, MistakesAreErrors) {
  Region region;
  const TraceScope scope(region);
  EXPECT_EQ(error_without_lines<ShapeError>(
                [] { random::orthogonal(random::random_key(0), {}, 3, 3, DType::kBF16); }),
            "the top level: random::orthogonal: expected f32 or f64, got bf16; operands: u32[2] of "
            "the top level (constant)");
}

}  // namespace
}  // namespace axle
