#include "layers/products/quantized_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "config/register.h"
#include "ir/host_tensor.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/trace.h"

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

// Returns the weight with one dim for the groups of inputs and one for the inputs of a group.
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

namespace {

CodeForm form_of(const Product::Dims& dims, const ProductLetters& letters,
                 const CodeScheme& scheme) {
  return {.weight_dims = {dims.weight_dims.begin(), dims.weight_dims.end()},
          .first_input = letters.weight.find(letters.contracted[0]),
          .num_inputs = letters.contracted.size(),
          .scheme = scheme};
}

// Returns the mesh axes of a part. A device may not have a whole number of scales along the inputs.
std::vector<DimAxes> axes_of(const Product::Dims& dims, const CodeForm& form, bool of_codes) {
  std::vector<DimAxes> out = dims.weight_axes.dims;
  out.resize(form.weight_dims.size());
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(form.first_input);
  if (!of_codes) *first = kReplicated;
  out.erase(first + 1, first + static_cast<std::ptrdiff_t>(form.num_inputs));
  return out;
}

// A spec that is complete for any options of the slot.
ParamSpec spec_of(const CodeForm& form, const CodePart& part, const Product::Dims& dims) {
  return {.shape = form.dims_of(part),
          .mesh_axes = axes_of(dims, form, part.name == kCodes),
          .init = Constant{.value = 0},
          .dtype = part.dtype,
          .weight_decay_scale = 0,
          .compute = part.dtype};
}

// Returns into how many parts a dim is cut so that each has at most `most` of `size` numbers.
int64_t num_parts_of(int64_t size, int64_t dim, int64_t most) {
  int64_t out = (size + most - 1) / most;
  while (out < dim && dim % out != 0) ++out;
  return std::min(out, dim);
}

FanAxes fan_of(const ProductLetters& letters) {
  return {.in = from_the_end(letters.weight, letters.contracted),
          .out = from_the_end(letters.weight, letters.out),
          .batch = from_the_end(letters.weight, letters.stacked + letters.batch)};
}

}  // namespace

QuantizedProduct::QuantizedProduct(const Config& cfg, const Dims& dims, const Scope& scope)
    : Product(scope),
      form_(checked_form(cfg, dims)),
      spec_(dims.spec),
      letters_(letters_of(dims)),
      weight_path_(dims.weight),
      weight_axes_(dims.weight_axes),
      is_table_(dims.use == WeightUse::kRowsToo),
      decoded_at_once_(cfg.decoded_at_once),
      fan_(fan_of(letters_)) {
  for (const CodePart& part : parts_of(form_.scheme))
    parts_.emplace(part.name, param(part.name, spec_of(form_, part, dims)));
  hold(weight_path_);
}

QuantizedProduct::Config QuantizedProduct::config_of(const CodeScheme& scheme) {
  return {.bits = scheme.bits,
          .group = scheme.group,
          .scales = scheme.scales,
          .offsets = scheme.offsets};
}

CodeForm QuantizedProduct::checked_form(const Config& cfg, const Dims& dims) const {
  if (dims.weight.empty()) {
    fail("bits",
         "expected a product with a weight of its own, got one whose weight has other uses, so "
         "that it cannot be kept as codes; leave this product out");
  }
  const ProductLetters letters = letters_of(dims);
  AXLE_CHECK(letters.weight.find(letters.contracted) != std::string::npos,
             "the inputs of a weight do not lie side by side: " + dims.spec);
  const CodeForm out =
      form_of(dims, letters,
              {.bits = cfg.bits, .group = cfg.group, .scales = cfg.scales, .offsets = cfg.offsets});
  if (out.inputs() % out.scheme.group != 0) {
    fail("group", fmt::format("expected a divisor of the {} inputs of the weight, got {}",
                              out.inputs(), out.scheme.group));
  }
  if (cfg.scales == ScaleForm::kI8 &&
      (kScaleBlock % out.scheme.group != 0 || out.inputs() % kScaleBlock != 0)) {
    fail("scales", fmt::format("expected groups that divide {0}, and a multiple of {0} inputs, for "
                               "i8, got groups of {1} and {2} inputs",
                               kScaleBlock, out.scheme.group, out.inputs()));
  }
  if (out.inputs() % out.unit() != 0) {
    fail("bits", fmt::format("expected a multiple of {} inputs for codes of {} bits, got {}",
                             cfg.bits == CodeBits::kFour ? 2 : 8, to_text(cfg.bits), out.inputs()));
  }
  return out;
}

CodedWeight QuantizedProduct::coded() const {
  CodedWeight out;
  for (const auto& [name, part] : parts_) out.emplace(name, part());
  return out;
}

Tensor QuantizedProduct::forward(const Tensor& x, const Tensor& weight) {
  if (const int64_t num_parts = num_parts_for(weight); num_parts > 1) return in_parts(x, num_parts);
  const auto product = [&] {
    const Tensor own = repeated_as_called(form_.decode(coded()), letters_.weight, weight,
                                          letters_.weight, form_.weight_dims);
    return einsum(spec_, x, astype(own, x.dtype()));
  };
  // The decoded weight is not kept for the backward pass.
  return is_training() ? rematerialize<Tensor>(SaveNothing{}(), product) : product();
}

// Parts are of the first dim of the outputs, where devices do not share it.
int64_t QuantizedProduct::num_parts_for(const Tensor& weight) const {
  const Shape& dims = form_.weight_dims;
  const size_t axis = letters_.weight.find(letters_.out[0]);
  if (weight.shape() != dims) return 1;
  const PartitionSpec axes = restrict(weight_axes_, dims, Invocation::current().options().mesh);
  if (axis < axes.dims.size() && !axes.dims[axis].empty()) return 1;
  return num_parts_of(num_elements(dims), dims[axis], decoded_at_once_);
}

Tensor QuantizedProduct::in_parts(const Tensor& x, int64_t num_parts) const {
  const char letter = letters_.out[0];
  const size_t axis = letters_.weight.find(letter);
  CodeForm of_part = form_;
  of_part.weight_dims[axis] /= num_parts;
  // Parts have one dim for all inputs.
  const auto own_axis =
      static_cast<int64_t>(axis > form_.first_input ? axis + 1 - form_.num_inputs : axis);
  std::vector<std::string> names;
  Values xs;
  for (const auto& [name, part] : coded()) {
    const Tensor cut = unflatten(part, own_axis, {num_parts, part.dim(own_axis) / num_parts});
    names.push_back(name);
    xs.push_back(move_axis(cut, own_axis, 0));
  }
  const auto product = [&](const Values& parts) {
    CodedWeight own;
    for (size_t i = 0; i < names.size(); ++i) own.emplace(names[i], parts[i]);
    return Values{einsum(spec_, x, astype(of_part.decode(own), x.dtype()))};
  };
  const ScanBody body = [&](const Values&, const Values& parts) {
    const Values y = is_training() ? remat(product, parts, save_nothing(), false) : product(parts);
    return ScanResult{.carry = {}, .ys = y};
  };
  const Tensor ys = scan(body, {}, xs, num_parts).ys[0];
  const int64_t place = ys.rank() + from_the_end(letters_.y, std::string(1, letter))[0];
  return flatten(move_axis(ys, 0, place - 1), place - 1, place);
}

Tensor QuantizedProduct::rows(const Tensor& weight, const Tensor& ids, const PartitionSpec& axes) {
  CodedWeight rows;
  for (const auto& [name, part] : coded()) {
    PartitionSpec own = axes;
    if (name != kCodes && own.dims.size() > 1) own.dims.pop_back();
    rows.emplace(name, take(constrain(part, own), ids));
  }
  CodeForm of_rows = form_;
  of_rows.weight_dims.erase(of_rows.weight_dims.begin());
  --of_rows.first_input;
  return astype(of_rows.decode(rows), weight.dtype());
}

Tree<Tensor> QuantizedProduct::initialize(const random::Key& key) const {
  const Init init = options().init.value_or(VarianceScaling{});
  const Tensor weight = init({form_.weight_dims, DType::kF32, fan_}).draw(key);
  Tree<Tensor> out;
  for (const auto& [name, part] : form_.encode(weight)) out.emplace(parts_.at(name).path(), part);
  return out;
}

std::vector<std::string> QuantizedProduct::own_paths() const {
  std::vector<std::string> out;
  for (const CodePart& part : parts_of(form_.scheme))
    out.push_back(parts_.at(std::string(part.name)).path());
  return out;
}

void QuantizedProduct::encode_in(Tree<HostTensor>& parameters) const {
  const auto encode = [&](const Values& v) {
    const CodedWeight coded = form_.encode(v[0]);
    Values out;
    for (const auto& [name, part] : coded) out.push_back(part);
    return out;
  };
  std::vector<HostTensor> coded = eval(encode, {parameters.at(weight_path_)});
  parameters.erase(weight_path_);
  auto at = coded.begin();
  for (const auto& [name, part] : parts_) {
    if (!all_finite(*at))
      fail("scales", "expected a dtype that holds the weights, got f16; set f32");
    parameters.insert_or_assign(part.path(), std::move(*at++));
  }
}

void QuantizedProduct::put_in(Tree<HostTensor>& parameters, Tree<HostTensor> parts) const {
  HostTensor& codes = parts.at(std::string(kCodes));
  if (form_.scheme.bits != CodeBits::kEight) {
    const auto pack = [&](const Values& v) { return Values{form_.pack(v[0])}; };
    codes = eval(pack, {codes})[0];
  }
  for (auto& [name, part] : parts)
    parameters.insert_or_assign(parts_.at(name).path(), std::move(part));
}

void QuantizedProduct::decode_in(Tree<HostTensor>& parameters) const {
  std::vector<HostTensor> coded;
  for (const auto& [name, part] : parts_) {
    coded.push_back(std::move(parameters.at(part.path())));
    parameters.erase(part.path());
  }
  const auto decode = [&](const Values& v) {
    CodedWeight own;
    auto at = v.begin();
    for (const auto& [name, part] : parts_) own.emplace(name, *at++);
    return Values{form_.decode(own)};
  };
  parameters.insert_or_assign(weight_path_, eval(decode, coded)[0]);
}

std::vector<const QuantizedProduct*> quantized_products(const Layer& model) {
  std::vector<const QuantizedProduct*> out;
  model.visit([&](const Layer& layer) {
    if (const auto* const found = dynamic_cast<const QuantizedProduct*>(&layer))
      out.push_back(found);
  });
  return out;
}

AXLE_REGISTER(QuantizedProduct)

}  // namespace axle
