#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/rules.h"
#include "ops/windows/windows.h"

namespace axle {
namespace {

using AxisList = std::vector<int64_t>;

struct ConvolutionAttributes : Attributes {
  SlidingWindow window = {};  // over the spatial dims
  ConvolutionDims dims = {};
  int64_t feature_groups = 1, batch_groups = 1;
  DotOptions options = {};
  int64_t groups() const { return std::max(feature_groups, batch_groups); }
  std::string text() const override;
};

const ConvolutionAttributes& convolution_attributes(const OpNode& op) {
  return op.attrs<ConvolutionAttributes>();
}

// Writes "[b, 0, 1, f]": what each dim is.
std::string dims_text(const AxisList& dims, char first, char second) {
  std::vector<std::string> out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    out[dims[i]] = i >= 2 ? std::to_string(i - 2) : std::string(1, i == 0 ? first : second);
  }
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string dims_text(const ConvolutionDims& dims) {
  return fmt::format("{}x{}->{}", dims_text(dims.x, 'b', 'f'), dims_text(dims.kernel, 'o', 'i'),
                     dims_text(dims.y, 'b', 'f'));
}

std::string ConvolutionAttributes::text() const {
  std::string out = to_text(window);
  const auto add = [&](std::string part) { out += (out.empty() ? "" : ", ") + part; };
  add("dims = " + dims_text(dims));
  if (feature_groups > 1) add(fmt::format("feature_groups = {}", feature_groups));
  if (batch_groups > 1) add(fmt::format("batch_groups = {}", batch_groups));
  if (options.result_dtype) add(fmt::format("result = {}", name_of(*options.result_dtype)));
  if (options.precision != Precision::kDefault)
    add(fmt::format("precision = {}", mlir_name(options.precision)));
  return out;
}

// True if the list names each dim of a tensor of this rank once.
bool names_all_dims(AxisList dims, int64_t rank) {
  std::ranges::sort(dims);
  return dims == axis_range(0, rank);
}

Shape convolution_sizes(const Tensor& t, const AxisList& dims) {
  Shape out;
  for (const int64_t d : dims) out.push_back(t.dim(d));
  return out;
}
AxisList spatial(const AxisList& dims) { return AxisList(dims.begin() + 2, dims.end()); }
Shape spatial_sizes(const Tensor& t, const AxisList& dims) {
  return convolution_sizes(t, spatial(dims));
}

void check_dtypes(const OpNode& op) {
  check_real_or_complex(op);
  const DType x = op.inputs[0].dtype(), kernel = op.inputs[1].dtype();
  const DType y = convolution_attributes(op).options.result_dtype.value_or(x);
  if (x != kernel || (y != x && !(is_float(y) && is_float(x)))) {
    shape_error(op, fmt::format("expected operands of one dtype and a result of the same kind, got "
                                "{}, {} and {}",
                                name_of(x), name_of(kernel), name_of(y)));
  }
}

void check_groups(const OpNode& op) {
  const auto& a = convolution_attributes(op);
  const auto [x, kernel] = std::pair(op.inputs[0], op.inputs[1]);
  const int64_t batch = x.dim(a.dims.x[0]), inputs = x.dim(a.dims.x[1]);
  const int64_t outputs = kernel.dim(a.dims.kernel[0]), window = kernel.dim(a.dims.kernel[1]);
  if (a.feature_groups < 1 || a.batch_groups < 1 || (a.feature_groups > 1 && a.batch_groups > 1)) {
    shape_error(op, fmt::format("expected positive numbers of groups of which one is 1, got {} "
                                "feature groups and {} batch groups",
                                a.feature_groups, a.batch_groups));
  }
  if (window * a.feature_groups != inputs) {
    shape_error(op, fmt::format("expected a kernel of {} / {} input features, got {}", inputs,
                                a.feature_groups, window));
  }
  if (outputs % a.groups() != 0 || batch % a.batch_groups != 0) {
    shape_error(op, fmt::format("expected {} groups to divide {} output features and {} batch "
                                "groups to divide a batch of {}",
                                a.groups(), outputs, a.batch_groups, batch));
  }
}

std::vector<Type> infer_convolution(const OpNode& op) {
  const auto& a = convolution_attributes(op);
  const Tensor &x = op.inputs[0], &kernel = op.inputs[1];
  check_dtypes(op);
  check_groups(op);
  Shape shape(x.shape().size());
  const auto set = [&](size_t i, int64_t size) { shape[a.dims.y[i]] = size; };
  set(0, x.dim(a.dims.x[0]) / a.batch_groups);
  set(1, kernel.dim(a.dims.kernel[0]));
  const Shape counts = num_windows(op, a.window, spatial_sizes(x, a.dims.x));
  for (size_t d = 0; d < counts.size(); ++d) set(d + 2, counts[d]);
  return {Type{a.options.result_dtype.value_or(x.dtype()), shape}};
}

// Splits dim `axis` into (n, rest).
Tensor split_major(const Tensor& t, int64_t axis, int64_t n) {
  return unflatten(t, axis, {n, t.dim(axis) / n});
}
// Merges dim `from` into dim `to`, as its major part. `to` is counted without `from`.
Tensor merge_major(const Tensor& t, int64_t from, int64_t to) {
  return flatten(move_axis(t, from, to), to, to + 1);
}

AxisList swapped(AxisList dims) {
  std::swap(dims[0], dims[1]);
  return dims;
}

// Convolves the cotangent with the flipped kernel, whose input and output features are swapped.
Tensor vjp_of_x(X in, Y y, const Tensor& g) {
  const auto& a = convolution_attributes(in.op());
  const int64_t groups = a.groups();
  Tensor kernel = in[1];
  if (groups > 1)
    kernel = merge_major(split_major(kernel, a.dims.kernel[0], groups), a.dims.kernel[0],
                         a.dims.kernel[1]);
  ConvolutionAttributes back = a;
  back.window = transposed(a.window, spatial_sizes(in[0], a.dims.x), spatial_sizes(y[0], a.dims.y));
  back.dims = {a.dims.y, swapped(a.dims.kernel), a.dims.x};
  back.feature_groups = groups;
  back.batch_groups = 1;
  const Tensor gx =
      emit(*in.op().rules, {g, reverse(kernel, spatial(a.dims.kernel))}, std::move(back));
  if (a.batch_groups == 1) return gx;
  return merge_major(split_major(gx, a.dims.x[1], groups), a.dims.x[1], a.dims.x[0]);
}

// Convolves x with the cotangent: batch and features are swapped, and so are strides and dilation.
Tensor vjp_of_kernel(X in, Y y, const Tensor& g) {
  const auto& a = convolution_attributes(in.op());
  const Shape sizes = spatial_sizes(in[0], a.dims.x), counts = spatial_sizes(y[0], a.dims.y);
  ConvolutionAttributes back = a;
  for (size_t i = 0; i < a.window.size(); ++i) {
    const SlidingDim& d = a.window[i];
    back.window[i] = {.size = counts[i],
                      .stride = d.window_dilation,
                      .low = d.low,
                      .high = dilated_size(counts[i], d.stride) -
                              dilated_size(sizes[i], d.base_dilation) +
                              dilated_size(d.size, d.window_dilation) - d.low - 1,
                      .base_dilation = d.base_dilation,
                      .window_dilation = d.stride};
  }
  back.dims = {swapped(a.dims.x), swapped(a.dims.y), swapped(a.dims.kernel)};
  std::swap(back.feature_groups, back.batch_groups);
  return emit(*in.op().rules, {in[0], g}, std::move(back));
}

Values vjp_convolution(X x, Y y, Ct g) {
  if (y[0].type().num_elements() == 0) return {Tensor(), Tensor()};
  const Tensor ct = astype(g[0], x[0].dtype());
  return {astype(vjp_of_x(x, y, ct), x[0].dtype()), astype(vjp_of_kernel(x, y, ct), x[0].dtype())};
}

// The batch becomes the major part of a batch or feature dim. Groups stay the outermost part.
std::vector<Batched> batch_convolution(BatchX in) {
  const auto& a = convolution_attributes(in.op());
  const int64_t size = in.axis().size, groups = a.groups();
  const int64_t batch_dim = a.dims.x[0], output_dim = a.dims.kernel[0];
  if (size == 0) {
    const Type& y = in.op().outputs[0];
    return all_batched({zeros(prepended(0, y.dims), y.dtype)});
  }
  ConvolutionAttributes merged = a;
  const auto convolved = [&](const Tensor& x, const Tensor& kernel) {
    return emit(*in.op().rules, {x, kernel}, merged);
  };
  const auto unmerged = [&](const Tensor& y, int64_t dim) {
    return all_batched({move_axis(split_major(y, dim, size), dim, 0)});
  };
  if (in.is_batched(0) && in.is_batched(1)) {
    const bool by_batch = a.batch_groups > 1;
    (by_batch ? merged.batch_groups : merged.feature_groups) *= size;
    return unmerged(convolved(merge_major(in[0], 0, by_batch ? batch_dim : a.dims.x[1]),
                              merge_major(in[1], 0, output_dim)),
                    a.dims.y[1]);
  }
  // Merges the leading dim after the groups of `dim`: (group, batch, rest).
  const auto merged_in_groups = [&](const Tensor& t, int64_t dim, int64_t count) {
    const Tensor moved = move_axis(split_major(t, dim + 1, count), 0, dim + 1);
    return flatten(moved, dim, dim + 2);
  };
  if (in.is_batched(0)) {
    return unmerged(convolved(merged_in_groups(in[0], batch_dim, a.batch_groups), in[1]),
                    a.dims.y[0]);
  }
  const Tensor y = convolved(in[0], merged_in_groups(in[1], output_dim, groups));
  const int64_t dim = a.dims.y[1];
  const Tensor split = unflatten(y, dim, {groups, size, y.dim(dim) / (groups * size)});
  return all_batched({flatten(move_axis(split, dim + 1, 0), dim + 1, dim + 2)});
}

// The strides of one operand or result, by what its dims are.
struct RoleStrides {
  RoleStrides(const HostTensor& t, const AxisList& dims) {
    const Shape all = row_major_strides(t.shape());
    Shape ordered;
    for (const int64_t d : dims) ordered.push_back(all[d]);
    first = static_cast<size_t>(ordered[0]);
    second = static_cast<size_t>(ordered[1]);
    spatial = Shape(ordered.begin() + 2, ordered.end());
  }
  size_t first, second;
  Shape spatial;
};

// Computes in A, the dtype of x and the kernel and of the result.
template <class A>
HostTensor convolve(const OpNode& op, const HostTensor& x, const HostTensor& kernel) {
  const auto& a = convolution_attributes(op);
  HostTensor y({dtype_of<A>(), op.outputs[0].dims});
  const Shape x_sizes = convolution_sizes(op.inputs[0], a.dims.x),
              kernel_sizes = convolution_sizes(op.inputs[1], a.dims.kernel);
  const RoleStrides xs(x, a.dims.x), ks(kernel, a.dims.kernel), ys(y, a.dims.y);
  const auto batch = static_cast<size_t>(x_sizes[0] / a.batch_groups),
             outputs = static_cast<size_t>(kernel_sizes[0]),
             inputs = static_cast<size_t>(kernel_sizes[1]),
             outputs_of_group = outputs / static_cast<size_t>(a.groups());
  // Distance in x between the groups of examples or features.
  const size_t group_step = a.batch_groups > 1 ? batch * xs.first : inputs * xs.second;
  const auto p = x.values<A>(), q = kernel.values<A>();
  const auto sums = y.values<A>();
  const auto multiply_add = [](A sum, A u, A v) {
    const A product = detail::wrapping(u, v, [](auto c, auto d) { return c * d; });
    return detail::wrapping(sum, product, [](auto c, auto d) { return c + d; });
  };
  const Shape places(x_sizes.begin() + 2, x_sizes.end());
  const Shape counts = num_windows(op, a.window, places);
  slide(a.window, places, counts, {xs.spatial, ks.spatial, ys.spatial},
        [&](size_t to, size_t from, size_t k) {
          for (size_t n = 0; n < batch; ++n) {
            for (size_t o = 0; o < outputs; ++o) {
              A& sum = sums[to + n * ys.first + o * ys.second];
              const size_t x_at = from + n * xs.first + o / outputs_of_group * group_step;
              const size_t kernel_at = k + o * ks.first;
              for (size_t i = 0; i < inputs; ++i)
                sum = multiply_add(sum, p[x_at + i * xs.second], q[kernel_at + i * ks.second]);
            }
          }
        });
  return y;
}

void eval_convolution(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> in,
                      std::span<HostTensor> out) {
  dispatch_any(out[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using A = detail::Accumulator<T>;
    if constexpr (detail::RealOrComplex<A>) {
      const DType wide = dtype_of<A>();
      out[0] = convolve<A>(op, in[0]->astype(wide), in[1]->astype(wide)).astype(out[0].dtype());
    }
  });
}

HloValues lower_convolution(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = convolution_attributes(op);
  const auto list = [&](int64_t SlidingDim::*member) {
    return mlir_array(list_of(a.window, member));
  };
  return {b.one("stablehlo.convolution", x, op.outputs[0],
                fmt::format("window_strides = {}, {}, lhs_dilation = {}, rhs_dilation = {}, "
                            "dimension_numbers = #stablehlo.conv<{}>, feature_group_count = {} : "
                            "i64, batch_group_count = {} : i64, {}",
                            list(&SlidingDim::stride), mlir_padding(a.window),
                            list(&SlidingDim::base_dilation), list(&SlidingDim::window_dilation),
                            dims_text(a.dims), a.feature_groups, a.batch_groups,
                            mlir_precision_config(a.options.precision)))};
}

double convolution_flops(const OpNode& op) {
  const Tensor& kernel = op.inputs[1];
  double flops = 2.0 * static_cast<double>(op.outputs[0].num_elements());
  for (const int64_t d : AxisList(convolution_attributes(op).dims.kernel.begin() + 1,
                                  convolution_attributes(op).dims.kernel.end()))
    flops *= static_cast<double>(kernel.dim(d));
  return flops;
}

const OpRules convolution_rules({.name = "convolution",
                                 .infer = infer_convolution,
                                 .batch = batch_convolution,
                                 .vjp = vjp_convolution,
                                 .eval = eval_convolution,
                                 .hlo = lower_convolution,
                                 .cost = convolution_flops,
                                 .traits = {.is_product = true}});

[[noreturn]] void fail_layouts(std::string_view x, std::string_view kernel, std::string_view y) {
  shape_error(
      "convolution",
      fmt::format("expected layouts like NHWC, HWIO and NHWC, got {}, {} and {}", x, kernel, y),
      {});
}

}  // namespace

ConvolutionDims convolution_dims(std::string_view x, std::string_view kernel, std::string_view y) {
  // Spatial dims are counted in their order in the kernel.
  std::string letters;
  for (const char c : kernel) {
    if (c != 'O' && c != 'I') letters += c;
  }
  const auto dims = [&](std::string_view layout, std::string_view roles) {
    AxisList out;
    for (const char c : std::string(roles) + letters) {
      const size_t at = layout.find(c);
      if (at == layout.npos || layout.size() != letters.size() + 2) fail_layouts(x, kernel, y);
      out.push_back(static_cast<int64_t>(at));
    }
    if (!names_all_dims(out, std::ssize(layout))) fail_layouts(x, kernel, y);
    return out;
  };
  return {dims(x, "NC"), dims(kernel, "OI"), dims(y, "NC")};
}

ConvolutionDims features_last(int64_t num_spatial) {
  check_at_least("features_last", "a number of spatial dims", num_spatial, 0);
  const AxisList between = axis_range(1, num_spatial + 1), leading = axis_range(0, num_spatial);
  const AxisList data = prepended(0, prepended(num_spatial + 1, between));
  return {data, prepended(num_spatial + 1, prepended(num_spatial, leading)), data};
}

Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvolutionOptions& options) {
  ConvolutionAttributes a;
  a.dims = options.dims;
  const bool names_none = a.dims.x.empty() && a.dims.kernel.empty() && a.dims.y.empty();
  if (names_none && x.rank() >= 2) a.dims = features_last(x.rank() - 2);
  const int64_t rank = x.rank();
  if (kernel.rank() != rank || rank < 2) {
    shape_error("convolution",
                fmt::format("expected operands of the same number of dims, at least 2, got {} and "
                            "{}",
                            rank, kernel.rank()),
                {x, kernel});
  }
  for (const AxisList& dims : {a.dims.x, a.dims.kernel, a.dims.y}) {
    if (names_all_dims(dims, rank)) continue;
    shape_error(
        "convolution",
        fmt::format("expected dims that name each of {} dims once, got {}", rank, to_text(dims)),
        {x, kernel});
  }
  const Window window{.sizes = spatial_sizes(kernel, a.dims.kernel),
                      .strides = options.strides,
                      .padding = options.padding,
                      .base_dilations = options.input_dilation,
                      .window_dilations = options.kernel_dilation};
  a.window = sliding_window("convolution", window, spatial_sizes(x, a.dims.x), {x, kernel});
  a.feature_groups = options.feature_groups;
  a.batch_groups = options.batch_groups;
  a.options = {.result_dtype = options.result_dtype, .precision = options.precision};
  return emit(convolution_rules, {x, kernel}, std::move(a));
}

}  // namespace axle
