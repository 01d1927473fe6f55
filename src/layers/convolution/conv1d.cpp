#include "layers/convolution/conv1d.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

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

}  // namespace axle
