#include "layers/products/grouped_codes.h"

#include <numeric>

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
namespace {

constexpr int64_t kRun = 8;  // neighbours whose codes of 5 or 6 bits lie together

// Returns [.. n * count ..] whole numbers of `bits` bits of bytes [.. n ..], the low bits first.
Tensor split_bytes(const Tensor& bytes, int64_t axis, int64_t bits) {
  const int64_t count = 8 / bits;
  Shape dims(bytes.shape().size() + 1, 1);
  dims[static_cast<size_t>(axis) + 1] = count;
  const Tensor shifts = iota(dims, axis + 1, DType::kU8) * static_cast<int>(bits);
  const Tensor parts = shift_right_logical(expand_dims(bytes, axis + 1), shifts);
  return flatten(parts & scalar((1 << bits) - 1, DType::kU8), axis, axis + 1);
}

// The inverse of split_bytes.
Tensor joined_bytes(const Tensor& numbers, int64_t axis, int64_t bits) {
  const int64_t count = 8 / bits;
  const Tensor parts = unflatten(numbers, axis, {numbers.dim(axis) / count, count});
  Tensor out = index_in_dim(parts, axis + 1, 0);
  for (int64_t i = 1; i < count; ++i)
    out = out | (index_in_dim(parts, axis + 1, i) << static_cast<int>(i * bits));
  return out;
}

}  // namespace

int64_t CodeForm::inputs() const {
  int64_t out = 1;
  for (size_t i = 0; i < num_inputs; ++i) out *= weight_dims[first_input + i];
  return out;
}

int64_t CodeForm::unit() const {
  const int64_t packed = scheme.bits == CodeBits::kEight  ? 1
                         : scheme.bits == CodeBits::kFour ? 2
                                                          : kRun;
  const int64_t block = scheme.scales == ScaleForm::kI8 ? kScaleBlock : 1;
  return std::lcm(std::lcm(packed, block), scheme.group);
}

Shape CodeForm::with_inputs(int64_t size) const {
  Shape out(weight_dims.begin(), weight_dims.end());
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(first_input);
  out.erase(first, first + static_cast<std::ptrdiff_t>(num_inputs));
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(first_input), size);
  return out;
}

Shape CodeForm::dims_of(const CodePart& part) const {
  return part.name == kCodes ? with_inputs(inputs() * scheme.num_bits() / 8)
                             : unpacked_dims_of(part);
}

// Of a tensor with one dim for the inputs.
int64_t CodeForm::input_axis(const Tensor& x) const {
  const size_t own_rank = weight_dims.size() - num_inputs + 1;
  return static_cast<int64_t>(x.shape().size() - own_rank + first_input);
}

Tensor CodeForm::unpack(const Tensor& codes) const {
  const int64_t axis = input_axis(codes), bits = scheme.num_bits();
  if (bits == 8) return codes;
  if (bits == 4) return split_bytes(codes, axis, 4);
  const Tensor runs = unflatten(codes, axis, {codes.dim(axis) / bits, bits});
  const Tensor low = split_bytes(slice_in_dim(runs, axis + 1, 0, 4), axis + 1, 4),
               high = split_bytes(slice_in_dim(runs, axis + 1, 4, bits), axis + 1, bits - 4);
  return flatten(low | (high << 4), axis, axis + 1);
}

Tensor CodeForm::pack(const Tensor& numbers) const {
  const int64_t axis = input_axis(numbers), bits = scheme.num_bits();
  if (bits == 8) return numbers;
  if (bits == 4) return joined_bytes(numbers, axis, 4);
  const Tensor runs = unflatten(numbers, axis, {numbers.dim(axis) / kRun, kRun});
  const Tensor low = joined_bytes(runs & scalar(15, DType::kU8), axis + 1, 4),
               high = joined_bytes(runs >> 4, axis + 1, bits - 4);
  return flatten(concatenate({low, high}, axis + 1), axis, axis + 1);
}

// Returns the scales or the offsets, f32, with a dim of size 1 behind that of the groups.
Tensor CodeForm::numbers_of(const CodedWeight& coded, std::string_view part,
                            std::string_view block) const {
  Tensor out = astype(coded.at(std::string(part)), DType::kF32);
  const int64_t axis = input_axis(out);
  if (scheme.scales == ScaleForm::kI8) {
    const Tensor shared = astype(coded.at(std::string(block)), DType::kF32);
    const int64_t blocks = shared.dim(axis);
    out = flatten(
        unflatten(out, axis, {blocks, out.dim(axis) / blocks}) * expand_dims(shared, axis + 1),
        axis, axis + 1);
  }
  return expand_dims(out, axis + 1);
}

Tensor CodeForm::decode(const CodedWeight& coded) const {
  const Tensor numbers = unpack(coded.at(std::string(kCodes)));
  const int64_t axis = input_axis(numbers);
  const Tensor groups = unflatten(astype(numbers, DType::kF32), axis,
                                  {numbers.dim(axis) / scheme.group, scheme.group});
  const Tensor scale = numbers_of(coded, kScales, kBlockScales);
  const Tensor values = scheme.offsets == OffsetForm::kMiddle
                            ? (groups - static_cast<double>(scheme.zero())) * scale
                            : groups * scale + numbers_of(coded, kOffsets, kBlockOffsets);
  Shape dims(numbers.shape().begin(),
             numbers.shape().begin() + axis - static_cast<std::ptrdiff_t>(first_input));
  dims.insert(dims.end(), weight_dims.begin(), weight_dims.end());
  return reshape(values, dims);
}

// Returns the weight with one dim for the groups of inputs and one for those of a group.
Tensor CodeForm::grouped(const Tensor& weight) const {
  const auto in_front = static_cast<std::ptrdiff_t>(weight.shape().size() - weight_dims.size());
  const Shape own = with_inputs(inputs());
  Shape dims(weight.shape().begin(), weight.shape().begin() + in_front);
  dims.insert(dims.end(), own.begin(), own.end());
  const Tensor flat = reshape(astype(weight, DType::kF32), dims);
  const int64_t axis = input_axis(flat);
  return unflatten(flat, axis, {flat.dim(axis) / scheme.group, scheme.group});
}

// Rounds scales or offsets to the form that the scheme has.
void CodeForm::put_numbers(const Tensor& numbers, std::string_view part, std::string_view block,
                           CodedWeight& out) const {
  if (scheme.scales != ScaleForm::kI8) {
    const DType dtype = scheme.scales == ScaleForm::kF16 ? DType::kF16 : DType::kF32;
    out.insert_or_assign(std::string(part), astype(numbers, dtype));
    return;
  }
  const int64_t axis = input_axis(numbers), count = kScaleBlock / scheme.group;
  const Tensor blocks = unflatten(numbers, axis, {numbers.dim(axis) / count, count});
  const Tensor shared = astype(reduce_max(abs(blocks), {axis + 1}) / 127, DType::kF16);
  const Tensor step = expand_dims(astype(shared, DType::kF32), axis + 1);
  const Tensor small =
      clamp(-127, round_nearest_even(blocks / select(equal(step, 0), 1, step)), 127);
  out.insert_or_assign(std::string(part), astype(flatten(small, axis, axis + 1), DType::kI8));
  out.insert_or_assign(std::string(block), shared);
}

CodedWeight CodeForm::encode(const Tensor& weight) const {
  const Tensor groups = grouped(weight);
  // The dim of the groups, before that of the inputs of a group.
  const int64_t axis =
      std::ssize(weight.shape()) - std::ssize(weight_dims) + static_cast<int64_t>(first_input);
  const bool is_middle = scheme.offsets == OffsetForm::kMiddle;
  const auto largest = static_cast<double>((int64_t{1} << scheme.num_bits()) - 1),
             zero = static_cast<double>(scheme.zero());
  CodedWeight out;
  if (is_middle) {
    put_numbers(reduce_max(abs(groups), {axis + 1}) / (zero - 1), kScales, kBlockScales, out);
  } else {
    const Tensor low = reduce_min(groups, {axis + 1}), high = reduce_max(groups, {axis + 1});
    put_numbers((high - low) / largest, kScales, kBlockScales, out);
    put_numbers(low, kOffsets, kBlockOffsets, out);
  }
  const Tensor scale = numbers_of(out, kScales, kBlockScales);
  const Tensor above = is_middle ? groups : groups - numbers_of(out, kOffsets, kBlockOffsets);
  // A group of equal numbers has the scale 0 and the codes of 0.
  const Tensor steps = above / select(equal(scale, 0), 1, scale) + zero;
  const Tensor numbers = clamp(0, round_nearest_even(steps), largest);
  out.emplace(kCodes, pack(astype(flatten(numbers, axis, axis + 1), DType::kU8)));
  return out;
}

}  // namespace axle
