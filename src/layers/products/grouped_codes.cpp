#include "layers/products/grouped_codes.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"

namespace axle {

int64_t CodeForm::inputs() const {
  int64_t out = 1;
  for (size_t i = 0; i < num_inputs; ++i) out *= weight_dims[first_input + i];
  return out;
}

Shape CodeForm::with_inputs(int64_t size) const {
  Shape out(weight_dims.begin(), weight_dims.end());
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(first_input);
  out.erase(first, first + static_cast<std::ptrdiff_t>(num_inputs));
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(first_input), size);
  return out;
}

// Of a tensor with one dim for the inputs.
int64_t CodeForm::input_axis(const Tensor& x) const {
  const size_t own_rank = weight_dims.size() - num_inputs + 1;
  return static_cast<int64_t>(x.shape().size() - own_rank + first_input);
}

Tensor CodeForm::decode(const CodedWeight& coded) const {
  const int64_t axis = input_axis(coded.codes);
  Tensor numbers = coded.codes;
  if (bits == 4)
    numbers =
        flatten(stack({numbers & scalar(15, DType::kU8), numbers >> 4}, axis + 1), axis, axis + 1);
  const Tensor grouped =
      unflatten(astype(numbers, DType::kF32), axis, {numbers.dim(axis) / group, group});
  const auto spread = [&](const Tensor& x) {
    return expand_dims(astype(x, DType::kF32), axis + 1);
  };
  const Tensor values = grouped * spread(coded.scales) + spread(coded.offsets);
  Shape dims(coded.codes.shape().begin(),
             coded.codes.shape().begin() + axis - static_cast<std::ptrdiff_t>(first_input));
  dims.insert(dims.end(), weight_dims.begin(), weight_dims.end());
  return reshape(values, dims);
}

Tensor CodeForm::pack(const Tensor& numbers) const {
  if (bits == 8) return numbers;
  const int64_t axis = input_axis(numbers);
  const Tensor pairs = unflatten(numbers, axis, {numbers.dim(axis) / 2, 2});
  return index_in_dim(pairs, axis + 1, 0) | (index_in_dim(pairs, axis + 1, 1) << 4);
}

// Returns the weight with one dim for the groups of inputs and one for those of a group.
Tensor CodeForm::grouped(const Tensor& weight) const {
  const auto in_front = static_cast<std::ptrdiff_t>(weight.shape().size() - weight_dims.size());
  const Shape own = with_inputs(inputs());
  Shape dims(weight.shape().begin(), weight.shape().begin() + in_front);
  dims.insert(dims.end(), own.begin(), own.end());
  const Tensor flat = reshape(astype(weight, DType::kF32), dims);
  const int64_t axis = input_axis(flat);
  return unflatten(flat, axis, {flat.dim(axis) / group, group});
}

Tensor CodeForm::encode(const Tensor& weight, const Tensor& scales, const Tensor& offsets) const {
  const int64_t axis = input_axis(scales);
  const Tensor scale = expand_dims(astype(scales, DType::kF32), axis + 1),
               offset = expand_dims(astype(offsets, DType::kF32), axis + 1);
  // A group of equal numbers has the scale 0 and the codes 0.
  const Tensor divisor = select(equal(scale, 0), 1, scale);
  const Tensor numbers =
      clamp(0, round_nearest_even((grouped(weight) - offset) / divisor), largest_code());
  return pack(astype(flatten(numbers, axis, axis + 1), DType::kU8));
}

CodedWeight CodeForm::encode(const Tensor& weight, DType scale_dtype) const {
  const Tensor groups = grouped(weight);
  const int64_t axis =
      std::ssize(weight.shape()) - std::ssize(weight_dims) + static_cast<int64_t>(first_input) + 1;
  const Tensor low = reduce_min(groups, {axis}), high = reduce_max(groups, {axis});
  CodedWeight out;
  out.scales = astype((high - low) / largest_code(), scale_dtype);
  out.offsets = astype(low, scale_dtype);
  out.codes = encode(weight, out.scales, out.offsets);
  return out;
}

}  // namespace axle
