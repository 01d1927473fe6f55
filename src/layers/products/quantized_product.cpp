#include "layers/products/quantized_product.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ir/finite.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/slice.h"
#include "ops/products/einsum.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Without the group.
CodeForm form_of(const Product::Dims& dims, const ProductLetters& letters, CodeBits bits) {
  return {.weight_dims = {dims.weight_dims.begin(), dims.weight_dims.end()},
          .first_input = letters.weight.find(letters.contracted[0]),
          .num_inputs = letters.contracted.size(),
          .bits = static_cast<int64_t>(bits)};
}

// Returns the mesh axes of the codes, or of the scales, of which a device may not have a whole
// number along the inputs.
std::vector<DimAxes> axes_of(const Product::Dims& dims, const CodeForm& form, bool of_codes) {
  std::vector<DimAxes> out = dims.weight_axes.dims;
  out.resize(form.weight_dims.size());
  const auto first = out.begin() + static_cast<std::ptrdiff_t>(form.first_input);
  if (!of_codes) *first = kReplicated;
  out.erase(first + 1, first + static_cast<std::ptrdiff_t>(form.num_inputs));
  return out;
}

DType dtype_of(ScaleDType scales) { return scales == ScaleDType::kF16 ? DType::kF16 : DType::kF32; }

// A spec that is complete whatever the options of the slot.
ParamSpec spec_of(Shape shape, std::vector<DimAxes> axes, DType dtype) {
  return {.shape = std::move(shape),
          .mesh_axes = std::move(axes),
          .init = Constant{.value = 0},
          .dtype = dtype,
          .weight_decay_scale = 0,
          .compute = dtype};
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
      weight_letters_(letters_of(dims).weight),
      weight_path_(dims.weight),
      scale_dtype_(dtype_of(cfg.scales)),
      fan_(fan_of(letters_of(dims))),
      codes_(param("codes", spec_of(form_.code_dims(), axes_of(dims, form_, true), DType::kU8))),
      scales_(
          param("scales", spec_of(form_.scale_dims(), axes_of(dims, form_, false), scale_dtype_))),
      offsets_(param("offsets",
                     spec_of(form_.scale_dims(), axes_of(dims, form_, false), scale_dtype_))) {
  hold(weight_path_);
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
  CodeForm out = form_of(dims, letters, cfg.bits);
  out.group = cfg.group;
  if (out.inputs() % out.group != 0) {
    fail("group", fmt::format("expected a divisor of the {} inputs of the weight, got {}",
                              out.inputs(), out.group));
  }
  if (out.inputs() * out.bits % 8 != 0) {
    fail("bits", fmt::format("expected an even number of inputs for codes of 4 bits, got {}",
                             out.inputs()));
  }
  return out;
}

Tensor QuantizedProduct::forward(const Tensor& x, const Tensor& weight) {
  const auto product = [&] {
    const Tensor own =
        repeated_as_called(form_.decode({codes_(), scales_(), offsets_()}), weight_letters_, weight,
                           weight_letters_, form_.weight_dims);
    return einsum(spec_, x, astype(own, x.dtype()));
  };
  // The decoded weight is not kept for the backward pass.
  return is_training() ? rematerialize<Tensor>(SaveNothing{}(), product) : product();
}

Tree<Tensor> QuantizedProduct::initialize(const random::Key& key) const {
  const Init init = options().init.value_or(VarianceScaling{});
  const Tensor weight = init({form_.weight_dims, DType::kF32, fan_}).draw(key);
  const CodedWeight coded = form_.encode(weight, scale_dtype_);
  return {{codes_.path(), coded.codes},
          {scales_.path(), coded.scales},
          {offsets_.path(), coded.offsets}};
}

void QuantizedProduct::encode_in(Tree<HostTensor>& parameters) const {
  const auto encode = [&](const Values& v) {
    const CodedWeight coded = form_.encode(v[0], scale_dtype_);
    return Values{coded.codes, coded.scales, coded.offsets};
  };
  const std::vector<HostTensor> coded = eval(encode, {parameters.at(weight_path_)});
  if (!all_finite(coded[1]) || !all_finite(coded[2]))
    fail("scales", "expected a dtype that holds the weights, got f16; set f32");
  parameters.erase(weight_path_);
  const std::vector<std::string> paths = own_paths();
  for (size_t i = 0; i < paths.size(); ++i) parameters.insert_or_assign(paths[i], coded[i]);
}

void QuantizedProduct::encode_in(Tree<HostTensor>& parameters, const HostTensor& weight,
                                 HostTensor scales, HostTensor offsets) const {
  const auto encode = [&](const Values& v) { return Values{form_.encode(v[0], v[1], v[2])}; };
  scales = scales.astype(scale_dtype_);
  offsets = offsets.astype(scale_dtype_);
  parameters.insert_or_assign(codes_.path(), eval(encode, {weight, scales, offsets})[0]);
  parameters.insert_or_assign(scales_.path(), std::move(scales));
  parameters.insert_or_assign(offsets_.path(), std::move(offsets));
}

void QuantizedProduct::decode_in(Tree<HostTensor>& parameters) const {
  const auto decode = [&](const Values& v) { return Values{form_.decode({v[0], v[1], v[2]})}; };
  std::vector<HostTensor> coded;
  for (const std::string& path : own_paths()) {
    coded.push_back(std::move(parameters.at(path)));
    parameters.erase(path);
  }
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
