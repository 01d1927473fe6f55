// Windows that slide over a tensor: reductions over them, pooling, the elements that they select.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hlo_builder.h"
#include "ir/tensor.h"
#include "ops/movement/window_rules.h"

namespace axle {

// The geometry that reductions over windows, pools and convolutions share.

/// Elements added before and after one dim. Negative numbers cut elements off.
struct DimPadding {
  int64_t low = 0, high = 0;
};
/// kValid: no padding. kSame: enough for ceil(size / stride) windows over a dim of this size,
/// counted with the holes of its dilation; the high side gets the odd element.
enum class PaddingRule : uint8_t { kValid, kSame };

/// The padding of all dims: a rule, or a pair for each dim as in `{{1, 1}, {0, 2}}`.
class Padding {
 public:
  Padding(PaddingRule rule = PaddingRule::kValid) : rule_(rule) {}  // implicit: options read better
  Padding(std::initializer_list<DimPadding> dims) : dims_(dims) {}
  Padding(std::vector<DimPadding> dims) : dims_(std::move(dims)) {}  // implicit
  PaddingRule rule() const { return rule_; }
  /// none: padding by rule.
  const std::optional<std::vector<DimPadding>>& dims() const { return dims_; }

 private:
  PaddingRule rule_ = PaddingRule::kValid;
  std::optional<std::vector<DimPadding>> dims_;
};

/// A window over a tensor. Each list has an entry for each dim; an empty list means all 1.
struct Window {
  Shape sizes = {};
  Shape strides = {};
  Padding padding = {};
  /// d - 1 holes lie between neighbouring elements of the tensor. Holes and padding hold the
  /// identity of the reduction.
  Shape base_dilations = {};
  /// Neighbouring elements of the window are d apart.
  Shape window_dilations = {};
};

/// A window along one dim, with the padding in numbers.
struct SlidingDim {
  int64_t size = 1, stride = 1, low = 0, high = 0, base_dilation = 1, window_dilation = 1;
};
using SlidingWindow = std::vector<SlidingDim>;

/// Returns the window over dims of these sizes with its padding in numbers. Throws ShapeError,
/// naming `op` and `operands`, if a list has not one entry for each dim, or if an entry of sizes,
/// strides or dilations is below 1.
SlidingWindow sliding_window(std::string_view op, const Window& window, const Shape& sizes,
                             const Values& operands);
/// Returns the number of windows along each of the dims. Throws ShapeError if negative padding
/// cuts off more than there is.
Shape num_windows(const OpNode& op, const SlidingWindow& window, const Shape& sizes);
/// Returns the window that carries the cotangents of all windows back to the elements under them.
/// Dims of these sizes have `counts` windows.
SlidingWindow transposed(const SlidingWindow& window, const Shape& sizes, const Shape& counts);
/// Returns one number of each dim: list_of(window, &SlidingDim::stride) are the strides.
Shape list_of(const SlidingWindow& window, int64_t SlidingDim::*member);
/// True if the tensor or the window is dilated along some dim.
bool is_dilated(const SlidingWindow& window);
/// Returns the size of a dim of n elements that are d apart.
inline int64_t dilated_size(int64_t n, int64_t d) { return n == 0 ? 0 : 1 + (n - 1) * d; }

/// Attributes of ops with one window over all dims.
struct SlidingAttributes : Attributes {
  explicit SlidingAttributes(SlidingWindow w) : window(std::move(w)) {}
  SlidingWindow window;
  std::string text() const override;
};
/// Writes a window for printing: the lists that are not trivial.
std::string to_text(const SlidingWindow& window);
/// Returns the window with a leading dim for a batch.
SlidingWindow with_batch_dim(SlidingWindow window);

/// Returns the attributes of a window over all dims, for reduce_window and select_and_scatter.
/// Dilations that are all 1 are left out: select_and_scatter has none.
std::string mlir_window(const SlidingWindow& window);
/// Returns the attribute `padding` of a window: a pair for each dim.
std::string mlir_padding(const SlidingWindow& window);
/// Reduces `counts` windows of all operands together by `combine`, starting from the scalars
/// `init`. `combine` takes the elements so far, then the next ones.
HloValues hlo_reduce_window(HloBuilder& b, const HloValues& x, const HloValues& init,
                            const SlidingWindow& window, const Shape& counts,
                            const std::function<HloValues(const HloValues&)>& combine);

// Reductions over windows: sum, maximum and minimum.
//
// x is float, integer or (sum only) complex; the result has the dtype of x and one element for each
// window. Padding and holes of a dilated x hold the identity of the reduction (0, -inf, inf; for
// integers the extremes). Throws ShapeError if the window does not fit the dims of x.

/// Small floats are summed in f32.
Tensor reduce_window_sum(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the largest, of equal ones to the first.
Tensor reduce_window_max(const Tensor& x, const Window& window);
/// The gradient goes to the element of each window that is the least, of equal ones to the first.
Tensor reduce_window_min(const Tensor& x, const Window& window);

// Pooling over windows of the spatial dims.
//
// x is [N, spatial.., C]; the result is [N, windows.., C] of the same dtype. Throws ShapeError if
// the window does not fit.

struct PoolOptions {
  /// Size of the window along each spatial dim.
  Shape window;
  /// An entry for each spatial dim; empty: all 1.
  Shape strides = {};
  /// Padding of the spatial dims.
  Padding padding = {};
};

/// What avg_pool divides by: the size of the window, or the number of its elements that are not
/// padding.
enum class PoolCount : uint8_t { kWindow, kWithoutPadding };

/// Padding is never the maximum.
Tensor max_pool(const Tensor& x, const PoolOptions& options);
/// Padding is never the minimum.
Tensor min_pool(const Tensor& x, const PoolOptions& options);
/// x is floating-point. Small floats are summed in f32. A window without elements yields 0 or, with
/// kWithoutPadding, NaN.
Tensor avg_pool(const Tensor& x, const PoolOptions& options, PoolCount count = PoolCount::kWindow);

/// Strides of the dims that a window slides over: in the operand, in the window and in the result.
struct SlideStrides {
  Shape x, window, y;
};

/// Calls fn(offset in y, offset in x, offset in the window) for each element of each window that
/// lies on an element of x, not on padding or holes. Windows come in row-major order, and so do the
/// elements of a window. `x` and `y` are the shapes of the dims that the window slides over.
void slide(const SlidingWindow& window, const Shape& x, const Shape& y, const SlideStrides& strides,
           const std::function<void(size_t, size_t, size_t)>& fn);

/// Calls fn(offset in y, offset in x) for windows over all dims of dense tensors; see slide.
void slide(const SlidingWindow& window, const Shape& x, const Shape& y,
           const std::function<void(size_t, size_t)>& fn);

// The elements that windows select, and sums over them: the gradients of maxima and minima over
// windows.

/// Which element a window selects; of equal ones the first. NaN is selected before all numbers,
/// padding never.
enum class WindowSelect : uint8_t { kLargest, kLeast };

/// Adds each element of `source` to the element of x that its window selects. `source` has the
/// dtype of x and one element for each window. The result has the type of x and is 0 elsewhere. The
/// gradient goes to `source` only. Throws ShapeError if shapes or dtypes do not fit, or if the
/// window is dilated.
Tensor select_and_scatter_add(const Tensor& x, const Tensor& source, const Window& window,
                              WindowSelect select);
/// Returns, for each window, the row-major position in x of the element that it selects, i32; -1
/// for a window without elements. Throws ShapeError if x has 2^31 elements or more.
Tensor selected_positions(const Tensor& x, const Window& window, WindowSelect select);

/// select_and_scatter_add over a window that may be dilated, for vjp rules.
Tensor add_to_selected(const Tensor& x, const Tensor& source, const SlidingWindow& window,
                       WindowSelect select);

}  // namespace axle
