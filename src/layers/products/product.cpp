#include "layers/products/product.h"

#include "base/error.h"
#include "config/register.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"

namespace axle {

Product::Dims product_dims(std::string spec, const Layer& owner, const Param& weight,
                           WeightUse use) {
  const Tree<ParamSpec> specs = owner.param_specs();
  const ParamSpec& declared = specs.at(weight.path());
  Product::Dims dims{.spec = std::move(spec),
                     .weight_dims = {declared.shape.begin(), declared.shape.end()},
                     .weight_axes = declared.partition(),
                     .stacked = {},
                     .weight = use == WeightUse::kOthersToo ? std::string() : weight.path(),
                     .use = use};
  const std::string letters = letters_of(dims).weight;
  for (const int64_t dim : declared.fan.batch)
    dims.stacked += letters[letters.size() - static_cast<size_t>(-dim)];
  return dims;
}

void Product::check_result(const Tensor& y, const Tensor& x, const Tensor& weight) const {
  if (given_dims()) expect_result(y, {x.dtype(), einsum_shape(given_dims()->spec, {x, weight})});
}

Tensor Product::rows(const Tensor& weight, const Tensor& ids, const PartitionSpec& axes) {
  return take(constrain(weight, axes), ids);
}

ProductLetters letters_of(const Product::Dims& dims) {
  const size_t comma = dims.spec.find(','), arrow = dims.spec.find("->");
  AXLE_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow,
             "a product's spec without ',' and '->': " + dims.spec);
  ProductLetters out;
  out.x = dims.spec.substr(0, comma);
  out.weight = dims.spec.substr(comma + 1, arrow - comma - 1);
  out.y = dims.spec.substr(arrow + 2);
  const auto in = [](const std::string& letters, char c) {
    return letters.find(c) != std::string::npos;
  };
  for (const char c : out.weight) {
    if (in(dims.stacked, c))
      out.stacked += c;
    else if (in(out.x, c))
      (in(out.y, c) ? out.batch : out.contracted) += c;
    else
      out.out += c;
  }
  return out;
}

Tensor repeated_as_called(Tensor part, const std::string& letters, const Tensor& called,
                          const std::string& weight_letters, std::span<const int64_t> declared) {
  for (size_t i = 0; i < weight_letters.size(); ++i) {
    const int64_t copies = called.dim(static_cast<int64_t>(i)) / declared[i];
    const size_t at = letters.find(weight_letters[i]);
    if (copies > 1 && at != std::string::npos)
      part = repeat(part, copies, static_cast<int64_t>(at));
  }
  return part;
}

std::vector<int64_t> from_the_end(const std::string& letters, const std::string& some) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (some.find(letters[i]) != std::string::npos)
      out.push_back(static_cast<int64_t>(i) - std::ssize(letters));
  }
  return out;
}

AXLE_REGISTER(Product::Dims)

template class LayerRole<Product, Product::Signature>;

Tensor PlainProduct::forward(const Tensor& x, const Tensor& weight) {
  return einsum(spec_, x, weight);
}

AXLE_REGISTER(PlainProduct)

}  // namespace axle
