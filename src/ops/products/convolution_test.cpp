// Tests of convolution.h. Numbers are from jax.lax.conv_general_dilated, JAX 0.10.2.
#include <gmock/gmock.h>

#include "base/error.h"
#include "ir/text/text_form.h"
#include "ops/products/products.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run;

// Returns (i % modulus) - modulus / 2 for i = 0, 1, 2, ...
HostTensor cycle(const Shape& shape, int64_t modulus) {
  HostTensor out = HostTensor::zeros(shape);
  int64_t i = 0;
  for (float& v : out.values<float>()) v = static_cast<float>(i++ % modulus - modulus / 2);
  return out;
}

HostTensor convolved(const HostTensor& x, const HostTensor& kernel,
                     const ConvolutionOptions& options) {
  return run([&](const Values& v) { return convolution(v[0], v[1], options); }, {x, kernel});
}
HostTensor convolved(const Shape& x, const Shape& kernel, const ConvolutionOptions& options) {
  return convolved(cycle(x, 5), cycle(kernel, 7), options);
}

TEST(Convolution, SamePadding) {
  // window_strides=(2,), padding="SAME", ("NWC", "WIO", "NWC")
  EXPECT_EQ(convolved({1, 5, 2}, {3, 2, 2}, {.strides = {2}, .padding = PaddingRule::kSame}),
            HostTensor({1, 3, 2}, {-5.f, 0.f, -3.f, 11.f, 10.f, -2.f}));
}

TEST(Convolution, DilationsAndFeatureGroups) {
  // window_strides=(1,), padding=[(1, 0)], lhs_dilation=(2,), rhs_dilation=(2,),
  // feature_group_count=2
  EXPECT_THAT(elements(convolved({1, 4, 4}, {2, 2, 2},
                                 {.padding = {{1, 0}},
                                  .input_dilation = {2},
                                  .kernel_dilation = {2},
                                  .feature_groups = 2})),
              ElementsAre(0, 0, 3, -2, 0, 0, 3, 1, 0, 0, -2, 14));
}

TEST(Convolution, BatchGroups) {
  // padding="VALID", batch_group_count=2
  EXPECT_EQ(convolved({4, 3, 1}, {2, 1, 2}, {.batch_groups = 2}),
            HostTensor({2, 2, 2}, {7.f, 2.f, 3.f, 0.f, -5.f, -4.f, -4.f, 4.f}));
}

TEST(Convolution, Layouts) {
  // padding="VALID", ("NCWH", "HWOI", "WHNC")
  EXPECT_EQ(
      convolved({1, 2, 2, 3}, {2, 1, 2, 2}, {.dims = convolution_dims("NCWH", "HWOI", "WHNC")}),
      HostTensor({2, 2, 1, 2}, {7.f, -1.f, 5.f, -2.f, -9.f, 11.f, -6.f, -5.f}));
}

TEST(Convolution, ConvolutionWithoutSpatialDimsIsAProduct) {
  EXPECT_EQ(convolved(HostTensor({1, 2}, {2.f, 3.f}), HostTensor({2, 2}, {1.f, 2.f, 3.f, 4.f}), {}),
            HostTensor({1, 2}, {11.f, 16.f}));
}

TEST(Convolution, IntegersWrapAround) {
  const HostTensor x({1, 1, 1}, {int8_t{100}}), kernel({1, 1, 1}, {int8_t{3}});
  EXPECT_EQ(convolved(x, kernel, {}), HostTensor({1, 1, 1}, {int8_t{44}}));
}

TEST(Convolution, DtypeOfTheResult) {
  const HostTensor x = HostTensor::ones({1, 300, 1}, DType::kBF16),
                   kernel = HostTensor::ones({300, 1, 1}, DType::kBF16);
  HostTensor with_one = kernel;
  with_one.values<BF16>()[0] = BF16(2.f);
  // 301 is no bf16 number.
  EXPECT_EQ(convolved(x, with_one, {}), HostTensor({1, 1, 1}, {BF16(300.f)}));
  EXPECT_EQ(convolved(x, with_one, {.result_dtype = DType::kF32}), HostTensor({1, 1, 1}, {301.f}));
}

TEST(Convolution, Cost) {
  Region region;
  const TraceScope trace(region);
  const Tensor y = convolution(region.add_parameter({DType::kF32, {2, 8, 8, 4}}),
                               region.add_parameter({DType::kF32, {3, 3, 2, 6}}),
                               {.padding = PaddingRule::kSame, .feature_groups = 2});
  EXPECT_EQ(y.node()->rules->row().cost.flops(*y.node()), 2. * (2 * 8 * 8 * 6) * (3 * 3) * 2);
}

TEST(Convolution, Prints) {
  Region region;
  const TraceScope trace(region);
  region.set_results(
      {convolution(region.add_parameter({DType::kF32, {2, 8, 4}}),
                   region.add_parameter({DType::kF32, {3, 2, 6}}),
                   {.strides = {2}, .feature_groups = 2, .precision = Precision::kHighest})});
  EXPECT_THAT(print(region),
              HasSubstr("window = [3], strides = [2], dims = [b, 0, f]x[0, i, o]->[b, 0, f], "
                        "feature_groups = 2, precision = HIGHEST"));
}

TEST(Convolution, SaysWhatDoesNotFit) {
  const auto error = [](const Shape& x, const Shape& kernel, const ConvolutionOptions& options) {
    return error_without_lines<ShapeError>([&] { convolved(x, kernel, options); });
  };
  EXPECT_EQ(error({2, 8, 4}, {3, 3, 6}, {}),
            "the top level: convolution: expected a kernel of 4 / 1 input features, got 3; "
            "operands: f32[2, 8, 4] of the top level (parameter), f32[3, 3, 6] of the top level "
            "(parameter)");
  EXPECT_THAT(error({2, 8, 4}, {3, 2, 5}, {.feature_groups = 2}),
              HasSubstr("expected 2 groups to divide 5 output features"));
  EXPECT_THAT(error({3, 8, 4}, {3, 4, 6}, {.batch_groups = 2}),
              HasSubstr("2 batch groups to divide a batch of 3"));
  EXPECT_THAT(error({2, 8, 4}, {3, 2, 6}, {.feature_groups = 2, .batch_groups = 2}),
              HasSubstr("got 2 feature groups and 2 batch groups"));
  EXPECT_THAT(error({2, 8, 4}, {4, 6}, {}), HasSubstr("the same number of dims"));
  EXPECT_THAT(error({2, 8, 4}, {3, 4, 6}, {.strides = {1, 1}}),
              HasSubstr("expected strides for 1 dims, got 2"));
  EXPECT_THAT(error({2, 8, 4}, {3, 4, 6}, {.dims = {{0, 2, 2}, {2, 1, 0}, {0, 2, 1}}}),
              HasSubstr("expected dims that name each of 3 dims once, got [0, 2, 2]"));
  EXPECT_THAT(error_without_lines<ShapeError>([] {
                convolved(cycle({1, 2, 1}, 5), cycle({1, 1, 1}, 5).astype(DType::kBF16), {});
              }),
              HasSubstr("expected operands of one dtype and a result of the same kind, got f32, "
                        "bf16 and f32"));
  EXPECT_EQ(error_without_lines<ShapeError>([] { convolution_dims("NHWC", "HIO", "NHWC"); }),
            "the top level: convolution: expected layouts like NHWC, HWIO and NHWC, got NHWC, HIO "
            "and NHWC");
  EXPECT_NE(error_without_lines<ShapeError>([] { convolution_dims("NHHC", "HWIO", "NHWC"); }),
            "no error");
}

}  // namespace
}  // namespace axle
