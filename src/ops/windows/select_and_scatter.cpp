#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/rules.h"
#include "ops/windows/windows.h"

namespace axle {
namespace {

struct SelectAttributes : SlidingAttributes {
  SelectAttributes(SlidingWindow w, WindowSelect s, int64_t n = 0)
      : SlidingAttributes(std::move(w)), select(s), num_batch_dims(n) {}
  WindowSelect select;
  int64_t num_batch_dims;  // leading dims that positions do not count
  std::string text() const override {
    const std::string own = to_text(window);
    std::string out = own + (own.empty() ? "" : ", ") +
                      (select == WindowSelect::kLargest ? "select = largest" : "select = least");
    if (num_batch_dims > 0) out += fmt::format(", num_batch_dims = {}", num_batch_dims);
    return out;
  }
};

const SelectAttributes& selection_attributes(const OpNode& op) {
  return op.attrs<SelectAttributes>();
}

Shape example_shape(const Shape& x, const SelectAttributes& a) {
  return Shape(x.begin() + a.num_batch_dims, x.end());
}

// Returns the offset in x of the element that each window selects, -1 for a window without
// elements.
std::vector<int64_t> selected_elements(const OpNode& op, const HostTensor& x,
                                       const Shape& windows) {
  const auto& a = selection_attributes(op);
  std::vector<int64_t> selected(static_cast<size_t>(num_elements(windows)), -1);
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (detail::Number<Computed<T>>) {
      const auto in = x.values<T>();
      const auto keeps = [&](size_t held, size_t next) {
        const auto p = Computed<T>(in[held]), q = Computed<T>(in[next]);
        return p != p || (a.select == WindowSelect::kLargest ? p >= q : p <= q);
      };
      slide(a.window, x.shape(), windows, [&](size_t to, size_t from) {
        if (selected[to] < 0 || !keeps(static_cast<size_t>(selected[to]), from))
          selected[to] = static_cast<int64_t>(from);
      });
    }
  });
  return selected;
}

std::vector<Type> infer_positions(const OpNode& op) {
  check_numbers(op);
  const Type& x = op.inputs[0].type();
  const auto& a = selection_attributes(op);
  if (num_elements(example_shape(x.dims, a)) > std::numeric_limits<int32_t>::max())
    shape_error(op, fmt::format("expected fewer than 2^31 elements, got {}", to_text(x)));
  return {Type{DType::kI32, num_windows(op, a.window, x.dims)}};
}

void eval_positions(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                    std::span<HostTensor> y) {
  const int64_t size = num_elements(example_shape(x[0]->shape(), selection_attributes(op)));
  std::ranges::transform(
      selected_elements(op, *x[0], y[0].shape()), y[0].values<int32_t>().begin(),
      [&](int64_t from) { return static_cast<int32_t>(from < 0 ? from : from % size); });
}

// Returns whether a window prefers x to y, or either of them. A NaN is preferred to all others.
HloValue is_selected(HloBuilder& b, const SelectAttributes& a, const HloValue& x,
                     const HloValue& y) {
  const HloValue wins = hlo_compare(b, a.select == WindowSelect::kLargest ? "GE" : "LE", x, y);
  return is_float(x.type.dtype) ? hlo_map(b, "or", {wins, hlo_compare(b, "NE", x, x)}) : wins;
}

// Reduces pairs of an element and its position. Padding has the position -1 and is never selected.
// Platforms reduce in any order, so equal elements are told apart by their positions.
HloValues lower_positions(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = selection_attributes(op);
  const bool largest = a.select == WindowSelect::kLargest;
  const Shape &shape = x[0].type.dims, example = example_shape(shape, a);
  const HloValue flat = b.one("stablehlo.iota", {}, {DType::kI32, {num_elements(example)}},
                              "iota_dimension = 0 : i64");
  const HloValue positions =
      hlo_broadcast(b, b.one("stablehlo.reshape", {flat}, {DType::kI32, example}), shape,
                    axis_range(a.num_batch_dims, x[0].type.rank()));
  const DType dtype = x[0].type.dtype;
  const HloValue worst = b.splat({dtype, {}}, largest ? lowest_value(dtype) : highest_value(dtype));
  const HloValue none = b.splat({DType::kI32, {}}, -1);
  const auto combine = [&](const HloValues& v) {
    const auto is_real = [&](const HloValue& position) {
      return hlo_compare(b, "GE", position, hlo_splat_like(b, position, 0));
    };
    const auto both = [&](const HloValue& p, const HloValue& q) {
      return hlo_map(b, "and", {p, q});
    };
    const auto either = [&](const HloValue& p, const HloValue& q) {
      return hlo_map(b, "or", {p, q});
    };
    const HloValue loses = hlo_map(b, "not", {is_selected(b, a, v[2], v[0])});
    const HloValue wins =
        both(is_selected(b, a, v[0], v[2]), either(loses, hlo_compare(b, "LE", v[1], v[3])));
    const HloValue keeps = either(both(is_real(v[1]), wins), hlo_map(b, "not", {is_real(v[3])}));
    return HloValues{hlo_select(b, keeps, v[0], v[2]), hlo_select(b, keeps, v[1], v[3])};
  };
  return {hlo_reduce_window(b, {x[0], positions}, {worst, none}, a.window, op.outputs[0].dims,
                            combine)[1]};
}

double selection_flops(const OpNode& op) {
  double flops = 1;
  for (const SlidingDim& d : selection_attributes(op).window) flops *= static_cast<double>(d.size);
  return flops * static_cast<double>(op.inputs.back().type().num_elements());
}

const OpRules positions_rules({.name = "selected_positions",
                               .infer = infer_positions,
                               .batch =
                                   [](BatchX x) {
                                     const auto& a = selection_attributes(x.op());
                                     return emit_batched(
                                         x, SelectAttributes(with_batch_dim(a.window), a.select,
                                                             a.num_batch_dims + 1));
                                   },
                               .vjp = no_gradient,
                               .eval = eval_positions,
                               .hlo = lower_positions,
                               .cost = num_input_elements});

const GatherDims kOneElement = {.collapsed = {0}, .index_map = {0}, .index_vector_dim = 1};

// Returns the elements of g, shaped like x, that the windows over x select; 0 for none.
Tensor take_selected(const Tensor& g, const Tensor& positions) {
  if (g.type().num_elements() == 0) return zeros(positions.shape(), g.dtype());
  const Tensor index = reshape(positions, {positions.type().num_elements()});
  const Tensor taken = reshape(
      gather(reshape(g, {g.type().num_elements()}), index, kOneElement, {1}), positions.shape());
  return select(positions >= 0, taken, zeros_like(taken));
}

// Adds to the elements at the positions. A scatter drops the position -1.
Tensor scatter_to_selected(const Tensor& x, const Tensor& source, const Tensor& positions) {
  const Tensor index = reshape(positions, {positions.type().num_elements()});
  return reshape(scatter_add(zeros({x.type().num_elements()}, x.dtype()), index,
                             reshape(source, index.shape()), kOneElement),
                 x.shape());
}

std::vector<Type> infer_selection(const OpNode& op) {
  check_numbers(op);
  const Tensor &x = op.inputs[0], &source = op.inputs[1];
  const SlidingWindow& window = selection_attributes(op).window;
  const Type expected{x.dtype(), num_windows(op, window, x.shape())};
  if (source.type() != expected)
    shape_error(op, fmt::format("expected a source of {}, got {}", to_text(expected),
                                to_text(source.type())));
  if (is_dilated(window))
    shape_error(op, fmt::format("expected a window without dilation, got {}", to_text(window)));
  return {x.type()};
}

void eval_selection(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
                    std::span<HostTensor> y) {
  const std::vector<int64_t> selected = selected_elements(op, *x[0], x[1]->shape());
  dispatch(y[0].dtype(), [&]<class T>(std::type_identity<T>) {
    using C = Computed<T>;
    if constexpr (detail::Number<C>) {
      const auto in = x[1]->values<T>();
      const auto out = y[0].values<T>();
      for (size_t w = 0; w < selected.size(); ++w) {
        if (selected[w] < 0) continue;
        T& to = out[selected[w]];
        to = convert_element<T>(
            detail::wrapping(C(to), C(in[w]), [](auto p, auto q) { return p + q; }));
      }
    }
  });
}

HloValues lower_selection(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const auto& a = selection_attributes(op);
  const Type element{x[0].type.dtype, {}};
  const HloRegion select{{element, element}, [&](const HloValues& v) {
                           return HloValues{is_selected(b, a, v[0], v[1])};
                         }};
  return {b.one("stablehlo.select_and_scatter", {x[0], x[1], b.splat(element, 0)}, op.outputs[0],
                mlir_window(a.window), {select, hlo_combiner(b, "add", element.dtype)})};
}

const OpRules selection_rules({.name = "select_and_scatter_add",
                               .infer = infer_selection,
                               .batch =
                                   [](BatchX x) {
                                     const auto& a = selection_attributes(x.op());
                                     return emit_batched(
                                         x, SelectAttributes(with_batch_dim(a.window), a.select));
                                   },
                               .vjp =
                                   [](X x, Y, Ct g) {
                                     const Tensor positions =
                                         emit(positions_rules, {x[0]}, x.op().attributes);
                                     return Values{Tensor(), take_selected(g[0], positions)};
                                   },
                               .eval = eval_selection,
                               .hlo = lower_selection,
                               .cost = selection_flops});

}  // namespace

Tensor select_and_scatter_add(const Tensor& x, const Tensor& source, const Window& window,
                              WindowSelect select) {
  const auto sliding = sliding_window(selection_rules.name(), window, x.shape(), {x, source});
  return emit(selection_rules, {x, source}, SelectAttributes(sliding, select));
}

Tensor selected_positions(const Tensor& x, const Window& window, WindowSelect select) {
  const auto sliding = sliding_window(positions_rules.name(), window, x.shape(), {x});
  return emit(positions_rules, {x}, SelectAttributes(sliding, select));
}

Tensor add_to_selected(const Tensor& x, const Tensor& source, const SlidingWindow& window,
                       WindowSelect select) {
  const SelectAttributes a(window, select);
  if (!is_dilated(window)) return emit(selection_rules, {x, source}, a);
  return scatter_to_selected(x, source, emit(positions_rules, {x}, a));
}

}  // namespace axle
