#include "layers/convolution/convolution_layer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "nn/real_tokens.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/products/convolution.h"

namespace axle {
namespace {

ParamSpec kernel_spec(const SlidingWindow& windows, int64_t num_groups,
                      const ConvolutionLayer::Dims& dims) {
  ParamSpec spec{.shape = list_of(windows, &SlidingDim::size)};
  spec.mesh_axes.assign(spec.shape.size(), kReplicated);
  // If num_groups does not divide the features, the construction fails after this.
  spec.shape.push_back(std::max<int64_t>(1, dims.input_dim / num_groups));
  spec.shape.push_back(dims.output_dim);
  spec.mesh_axes.push_back(dims.input_axes);
  spec.mesh_axes.push_back(dims.output_axes);
  return spec;
}

}  // namespace

WeightedConvolution::WeightedConvolution(const SlidingWindow& windows, const Fields& fields,
                                         const Dims& dims, const Scope& scope)
    : ConvolutionLayer(scope),
      windows_(windows),
      num_groups_(fields.num_groups),
      input_dim_(dims.input_dim),
      weight_(param("weight", kernel_spec(windows, fields.num_groups, dims))) {
  if (dims.input_dim % num_groups_ != 0 || dims.output_dim % num_groups_ != 0) {
    note("num_groups",
         fmt::format("must divide the numbers of features, got {} for {} inputs and {} outputs",
                     num_groups_, int64_t{dims.input_dim}, int64_t{dims.output_dim}));
  }
  if (dims.num_spatial_dims && *dims.num_spatial_dims != static_cast<int64_t>(windows.size())) {
    note("window", fmt::format("slides over {} dims, expected a layer over {}", windows.size(),
                               int64_t{*dims.num_spatial_dims}));
  }
  for (const SlidingDim& dim : windows_) {
    if (dim.window_dilation > kMaxElements / dim.size) {
      fail("dilation", fmt::format("expected a window of at most {} positions, got {} times {}",
                                   kMaxElements, dim.size, dim.window_dilation));
    }
  }
  try {
    padding_ = fields.padding(windows_);
  } catch (const ConfigError& error) {
    fail("padding", error.what());
  }
  if (fields.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor WeightedConvolution::convolve(const Tensor& x,
                                     const std::vector<DimPadding>& padding) const {
  if (x.shape().size() != windows_.size() + 2 || x.shape().back() != input_dim_) {
    throw ShapeError(fmt::format("{}: expected x of {} dims with {} features last, got {}", where(),
                                 windows_.size() + 2, input_dim_, to_text(x.type())));
  }
  const Tensor y = convolution(without_padding(x), weight_(),
                               {.strides = list_of(windows_, &SlidingDim::stride),
                                .padding = padding,
                                .kernel_dilation = list_of(windows_, &SlidingDim::window_dilation),
                                .feature_groups = num_groups_});
  return bias_ ? y + (*bias_)() : y;
}

void ConvolutionLayer::check_result(const Tensor& y, const Tensor& x,
                                    const std::optional<Tensor>&) const {
  Type expected{x.dtype(), Shape(x.shape().size(), kAnySize)};
  expected.dims.front() = x.dim(0);
  if (given_dims()) expected.dims.back() = given_dims()->output_dim;
  expect_result(y, expected);
}

AXLE_REGISTER(ConvolutionLayer::Dims)

template class LayerRole<ConvolutionLayer, ConvolutionLayer::Signature>;

}  // namespace axle
