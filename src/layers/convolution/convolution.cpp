#include "layers/convolution/convolution.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "layers/mesh_axes.h"
#include "nn/statistic.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"

namespace axle {
namespace {

int64_t extent(const SlidingDim& window) {
  return dilated_size(window.size, window.window_dilation);
}

}  // namespace

std::vector<DimPadding> ValidPadding::operator()(const SlidingWindow& windows) const {
  return std::vector<DimPadding>(windows.size());
}

std::vector<DimPadding> SamePadding::operator()(const SlidingWindow& windows) const {
  std::vector<DimPadding> out;
  for (const SlidingDim& window : windows) {
    const int64_t total = extent(window) - 1;
    out.push_back({.low = total / 2, .high = total - total / 2});
  }
  return out;
}

std::vector<DimPadding> CausalPadding::operator()(const SlidingWindow& windows) const {
  std::vector<DimPadding> out = SamePadding{}(windows);
  const SlidingDim& time = windows.at(0);
  out[0] = {.low = extent(time) - time.stride, .high = time.stride - 1};
  return out;
}

std::vector<DimPadding> ExplicitPadding::operator()(const SlidingWindow& windows) const {
  if (dims.size() != windows.size()) {
    throw ConfigError(fmt::format("dims: expected an entry for each of {} spatial dims, got {}",
                                  windows.size(), dims.size()));
  }
  std::vector<DimPadding> out;
  for (const PaddedDim& dim : dims) out.push_back({.low = dim.low, .high = dim.high});
  return out;
}

AXLE_REGISTER(ValidPadding)
AXLE_REGISTER(SamePadding)
AXLE_REGISTER(CausalPadding)
AXLE_REGISTER(PaddedDim)
AXLE_REGISTER(ExplicitPadding)

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
  if (dims.num_spatial_dims && *dims.num_spatial_dims != std::ssize(windows)) {
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

Conv1D::Conv1D(const Config& cfg, const Dims& dims, const Scope& scope)
    : WeightedConvolution(
          {{.size = cfg.window, .stride = cfg.stride, .window_dilation = cfg.dilation}},
          {.padding = cfg.padding, .num_groups = cfg.num_groups, .bias = cfg.bias}, dims, scope) {}

int64_t Conv1D::num_earlier() const {
  return dilated_size(windows()[0].size, windows()[0].window_dilation) - 1;
}

bool Conv1D::can_decode() const {
  return windows()[0].stride == 1 && padding()[0].low == num_earlier() && padding()[0].high == 0;
}

Tree<StateSpec> Conv1D::decode_state_specs(const DecodeDims& dims) const {
  if (!can_decode() || num_earlier() == 0) return {};
  return {{join_path(path(), "inputs"),
           {.type = {dims.dtype, {dims.batch_size, num_earlier(), input_dim()}},
            .mesh_axes = {{kBatchAxes}}}}};
}

Tensor Conv1D::forward(const Tensor& x_BTI, const std::optional<Tensor>& last_index) {
  if (!decoding() || num_earlier() == 0) return convolve(x_BTI, padding());
  const Tensor earlier = state("inputs");
  const Tensor all = concatenate({astype(earlier, x_BTI.dtype()), x_BTI}, 1);
  Tensor kept;
  if (last_index) {
    const Tensor first = astype(*last_index, DType::kI32) + 1;
    kept = batched_take(all, expand_dims(first, 1) + iota({x_BTI.dim(0), num_earlier()}, 1));
  } else {
    kept = slice_in_dim(all, 1, x_BTI.dim(1), all.dim(1));
  }
  set_state("inputs", astype(kept, earlier.dtype()));
  return convolve(all, {{.low = 0, .high = 0}});
}

AXLE_REGISTER(Conv1D)

namespace {

SlidingWindow windows_of(const Conv2D::Config& cfg, const Scope& scope) {
  const auto entry = [&](const char* field, const std::vector<Positive<int64_t>>& list, size_t i) {
    if (list.size() != 2) {
      throw ConfigError(fmt::format("{}: expected two numbers, got {}",
                                    join_config_path(scope.as_config(), field), list.size()));
    }
    return int64_t{list[i]};
  };
  SlidingWindow out;
  for (size_t i = 0; i < 2; ++i) {
    out.push_back({.size = entry("window", cfg.window, i),
                   .stride = entry("strides", cfg.strides, i),
                   .window_dilation = entry("dilation", cfg.dilation, i)});
  }
  return out;
}

}  // namespace

Conv2D::Conv2D(const Config& cfg, const Dims& dims, const Scope& scope)
    : WeightedConvolution(windows_of(cfg, scope),
                          {.padding = cfg.padding, .num_groups = cfg.num_groups, .bias = cfg.bias},
                          dims, scope) {}

AXLE_REGISTER(Conv2D)

}  // namespace axle
