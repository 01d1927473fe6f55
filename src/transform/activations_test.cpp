// Values and slopes of activation functions, against jax.nn.
#include <gmock/gmock.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_test.h"
#include "transform/grad.h"

namespace axle {
namespace {

using testing::expect_near;
using testing::run;

const HostTensor kPoints({12},
                         {-4.f, -3.f, -1.5f, -1.f, -0.25f, 0.f, 0.25f, 1.f, 1.5f, 3.f, 6.f, 7.f});

struct Case {
  std::string_view name;
  Tensor (*fn)(const Tensor&);
  // At kPoints, by jax.nn: fn(x) and jax.vmap(jax.grad(fn))(x).
  std::vector<float> values, slopes;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"leaky_relu",
       [](const Tensor& x) { return leaky_relu(x); },
       {-0.0399999991f, -0.0299999993f, -0.0149999997f, -0.00999999978f, -0.00249999994f, 0.f,
        0.25f, 1.f, 1.5f, 3.f, 6.f, 7.f},
       {0.00999999978f, 0.00999999978f, 0.00999999978f, 0.00999999978f, 0.00999999978f, 1.f, 1.f,
        1.f, 1.f, 1.f, 1.f, 1.f}},
      {"elu",
       [](const Tensor& x) { return elu(x); },
       {-0.981684387f, -0.950212955f, -0.776869833f, -0.63212055f, -0.2211992f, 0.f, 0.25f, 1.f,
        1.5f, 3.f, 6.f, 7.f},
       {0.0183156133f, 0.0497870445f, 0.223130167f, 0.36787945f, 0.778800786f, 1.f, 1.f, 1.f, 1.f,
        1.f, 1.f, 1.f}},
      {"celu",
       [](const Tensor& x) { return celu(x, 2); },
       {-1.72932947f, -1.55373967f, -1.05526686f, -0.786938667f, -0.235006168f, 0.f, 0.25f, 1.f,
        1.5f, 3.f, 6.f, 7.f},
       {0.135335267f, 0.223130167f, 0.472366571f, 0.606530666f, 0.882496893f, 1.f, 1.f, 1.f, 1.f,
        1.f, 1.f, 1.f}},
      {"selu",
       selu,
       {-1.72589874f, -1.67056882f, -1.36581433f, -1.11133075f, -0.388890177f, 0.f, 0.262675256f,
        1.05070102f, 1.57605147f, 3.15210295f, 6.30420589f, 7.35490704f},
       {0.032200668f, 0.0875305682f, 0.392284989f, 0.64676863f, 1.36920917f, 1.75809932f,
        1.05070102f, 1.05070102f, 1.05070102f, 1.05070102f, 1.05070102f, 1.05070102f}},
      {"relu6",
       relu6,
       {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.25f, 1.f, 1.5f, 3.f, 6.f, 6.f},
       {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 1.f, 1.f, 1.f, 1.f, 0.f, 0.f}},
      {"hard_tanh",
       hard_tanh,
       {-1.f, -1.f, -1.f, -1.f, -0.25f, 0.f, 0.25f, 1.f, 1.f, 1.f, 1.f, 1.f},
       {0.f, 0.f, 0.f, 1.f, 1.f, 1.f, 1.f, 1.f, 0.f, 0.f, 0.f, 0.f}},
      {"hard_sigmoid",
       hard_sigmoid,
       {0.f, 0.f, 0.25f, 0.333333343f, 0.458333343f, 0.5f, 0.541666687f, 0.666666687f, 0.75f, 1.f,
        1.f, 1.f},
       {0.f, 0.f, 0.166666672f, 0.166666672f, 0.166666672f, 0.166666672f, 0.166666672f,
        0.166666672f, 0.166666672f, 0.f, 0.f, 0.f}},
      {"hard_silu",
       hard_silu,
       {-0.f, -0.f, -0.375f, -0.333333343f, -0.114583336f, 0.f, 0.135416672f, 0.666666687f, 1.125f,
        3.f, 6.f, 7.f},
       {0.f, 0.f, 0.f, 0.166666672f, 0.416666687f, 0.5f, 0.583333373f, 0.833333373f, 1.f, 1.f, 1.f,
        1.f}},
      {"log_sigmoid",
       log_sigmoid,
       {-4.01814985f, -3.04858732f, -1.70141327f, -1.31326175f, -0.825939417f, -0.693147182f,
        -0.575939417f, -0.313261688f, -0.201413289f, -0.048587352f, -0.00247568521f,
        -0.000911466486f},
       {0.982013881f, 0.952574134f, 0.817574501f, 0.731058538f, 0.562176526f, 0.5f, 0.437823504f,
        0.268941402f, 0.182425529f, 0.0474258736f, 0.00247262302f, 0.000911051407f}},
      {"soft_sign",
       soft_sign,
       {-0.800000012f, -0.75f, -0.600000024f, -0.5f, -0.200000003f, 0.f, 0.200000003f, 0.5f,
        0.600000024f, 0.75f, 0.857142866f, 0.875f},
       {0.0400000066f, 0.0625f, 0.160000011f, 0.25f, 0.639999986f, 1.f, 0.639999986f, 0.25f,
        0.160000011f, 0.0625f, 0.0204081684f, 0.015625f}},
      {"soft_cap",
       [](const Tensor& x) { return soft_cap(x, 2); },
       {-1.92805516f, -1.81029651f, -1.2702979f, -0.924234315f, -0.248706004f, 0.f, 0.248706004f,
        0.924234315f, 1.2702979f, 1.81029651f, 1.99010951f, 1.9963558f},
       {0.0706508249f, 0.180706639f, 0.596585808f, 0.786447733f, 0.984536331f, 1.f, 0.984536331f,
        0.786447733f, 0.596585808f, 0.180706639f, 0.00986603717f, 0.00364088472f}},
      {"squareplus",
       [](const Tensor& x) { return squareplus(x); },
       {0.23606801f, 0.302775621f, 0.5f, 0.618034005f, 0.882782221f, 1.f, 1.13278222f, 1.61803401f,
        2.f, 3.30277562f, 6.1622777f, 7.1400547f},
       {0.0527864099f, 0.0839748532f, 0.199999988f, 0.276393205f, 0.437982619f, 0.5f, 0.562017381f,
        0.723606825f, 0.800000012f, 0.916025162f, 0.974341631f, 0.980761945f}},
      {"mish",
       mish,
       {-0.0725917369f, -0.145647451f, -0.298099697f, -0.30340144f, -0.129926965f, 0.f,
        0.169572413f, 0.865098476f, 1.40337825f, 2.98653555f, 5.99992704f, 6.99998903f},
       {-0.0537732132f, -0.0933931172f, -0.0640978366f, 0.0592167526f, 0.439815611f, 0.600000024f,
        0.754172683f, 1.04903615f, 1.08848798f, 1.02110612f, 1.0001334f, 1.00002015f}},
      {"sparse_plus",
       sparse_plus,
       {0.f, 0.f, 0.f, 0.f, 0.140625f, 0.25f, 0.390625f, 1.f, 1.5f, 3.f, 6.f, 7.f},
       {0.f, 0.f, 0.f, 0.f, 0.375f, 0.5f, 0.625f, 1.f, 1.f, 1.f, 1.f, 1.f}},
      {"sparse_sigmoid",
       sparse_sigmoid,
       {0.f, 0.f, 0.f, 0.f, 0.375f, 0.5f, 0.625f, 1.f, 1.f, 1.f, 1.f, 1.f},
       {0.f, 0.f, 0.f, 0.25f, 0.5f, 0.5f, 0.5f, 0.25f, 0.f, 0.f, 0.f, 0.f}},
  };
  return all;
}

HostTensor slopes(Tensor (*fn)(const Tensor&), const HostTensor& x) {
  return run(
      [fn](const Values& v) {
        return value_and_grad([fn](const Values& t) { return Values{sum(fn(t[0]))}; }, v).second[0];
      },
      {x});
}

TEST(Activations, AgreeWithJaxAlsoAtTheKinks) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto value = [&](const Values& v) { return c.fn(v[0]); };
    expect_near(run(value, {kPoints}), HostTensor({12}, std::span(c.values)), 2e-6);
    expect_near(slopes(c.fn, kPoints), HostTensor({12}, std::span(c.slopes)), 2e-6);
  }
}

TEST(Activations, HaveFiniteGradientsFarFromZero) {
  const HostTensor far({2}, {-1e4f, 1e4f});
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const HostTensor g = slopes(c.fn, far);
    for (int64_t i = 0; i < 2; ++i) EXPECT_TRUE(std::isfinite(g.at(i)));
  }
}

TEST(Activations, GluGatesTheFirstHalfByTheSecond) {
  const HostTensor x({2, 4}, {1.f, 2.f, 0.f, 100.f, 3.f, 4.f, -100.f, 0.f});
  const auto along = [](int64_t axis) {
    return [axis](const Values& v) { return glu(v[0], axis); };
  };
  expect_near(run(along(-1), {x}), HostTensor({2, 2}, {0.5f, 2.f, 0.f, 2.f}), 1e-6);
  // jax.nn.glu(x, axis=0)
  expect_near(run(along(0), {x}), HostTensor({1, 4}, {0.9525741f, 1.9640275f, 0.f, 50.f}), 1e-6);
  EXPECT_THAT(error_without_lines<ShapeError>([&] { run(along(0), {HostTensor::ones({3})}); }),
              ::testing::HasSubstr("glu: expected an even size, got 3"));
}

}  // namespace
}  // namespace axle
