// fft and linear algebra on the CPU plugin, compared with the results and gradients of JAX.
#include "io/safetensors.h"
#include "ops/ops.h"
#include "testing/checkout.h"
#include "testing/plugin_fixture.h"
#include "transform/grad.h"
#include "transform/linalg/linalg.h"
#include "transform/linalg/matrices.h"

namespace axle {
namespace {

class LinalgParity : public PluginTest {
 protected:
  // Compares fn and its vjp with what the reference file has for `op`.
  void expect_parity(const std::string& op, size_t num_inputs,
                     const std::function<Tensor(const Values&)>& fn) {
    SCOPED_TRACE(op);
    const auto numbers = load_safetensors(reference_file("jax/ops.safetensors"));
    const auto find = [&](const std::string& name) { return numbers.at(op + "/" + name); };
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < num_inputs; ++i) inputs.push_back(find("in" + std::to_string(i)));
    inputs.push_back(find("ct0"));
    const auto results = run(
        [&](const Values& v) {
          const Values x(v.begin(), v.end() - 1);
          const Linearized f = vjp([&](const Values& a) { return Values{fn(a)}; }, x);
          Values out = f.pullback({v.back()});
          out.push_back(f.outputs[0]);
          return out;
        },
        inputs);
    for (size_t i = 0; i < num_inputs; ++i)
      expect_close(results[i], find("grad" + std::to_string(i)), 1e-5);
    expect_close(results.back(), find("out0"), 1e-5);
  }
};

TEST_F(LinalgParity, AgreesWithJax) {
  expect_parity("rfft", 1, [](const Values& x) { return square(abs(rfft(x[0]))); });
  expect_parity("cholesky", 1, [](const Values& x) {
    return cholesky(matmul(x[0], transposed(x[0])) + 4 * eye(4, 4));
  });
  expect_parity("triangular_solve", 2,
                [](const Values& x) { return triangular_solve(x[0] + 3 * eye(4, 4), x[1]); });
}

TEST_F(LinalgParity, EighOfALargerMatrix) {
  const HostTensor x = testing::normal_values({2, 40, 40}, 3);
  const auto y = run(
      [](const Values& v) {
        const auto [values, vectors] = eigh(v[0]);
        return Values{matmul(vectors * expand_dims(values, -2), transposed(vectors)),
                      symmetrized(v[0])};
      },
      {x});
  EXPECT_LT(testing::relative_difference(y[0], y[1]), 1e-5);
}

}  // namespace
}  // namespace axle
