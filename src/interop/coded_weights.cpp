#include "interop/coded_weights.h"

#include "config/replace.h"
#include "config/walk.h"
#include "layers/products/plain_product.h"
#include "layers/products/quantized_product.h"
#include "modifiers/products/product_slots.h"

namespace axle {
namespace {

// Returns the spec of the weight, with the dims in front that its codes have: layers of a loop,
// experts.
ParamSpec weight_spec(const CodeForm& form, const ParamSpec& codes) {
  ParamSpec out;
  const size_t in_front = codes.shape.size() - (form.weight_dims.size() + 1 - form.num_inputs);
  out.shape.assign(codes.shape.begin(),
                   codes.shape.begin() + static_cast<std::ptrdiff_t>(in_front));
  out.shape.insert(out.shape.end(), form.weight_dims.begin(), form.weight_dims.end());
  out.mesh_axes.resize(out.shape.size());
  return out;
}

}  // namespace

Tree<ParamSpec> with_plain_weights(const Layer& model, Tree<ParamSpec> specs,
                                   const StoredDType& stored) {
  for (const QuantizedProduct* product : quantized_products(model)) {
    const std::vector<std::string> own = product->own_paths();
    const auto codes = specs.find(own[0]);
    if (codes == specs.end() || stored(own[0])) continue;
    ParamSpec weight = weight_spec(product->form(), codes->second);
    weight.dtype = stored(product->weight_path()).value_or(DType::kF32);
    for (const std::string& path : own) specs.erase(path);
    specs.insert_or_assign(product->weight_path(), std::move(weight));
  }
  return specs;
}

int64_t encode_weights(const Layer& model, Tree<HostTensor>& parameters) {
  int64_t out = 0;
  for (const QuantizedProduct* product : quantized_products(model)) {
    if (!parameters.contains(product->weight_path())) continue;
    product->encode_in(parameters);
    ++out;
  }
  return out;
}

int64_t decode_weights(LoadedModel& model) {
  const std::vector<const QuantizedProduct*> products = quantized_products(*model.model);
  if (products.empty()) return 0;
  for (const QuantizedProduct* product : products) product->decode_in(model.parameters);
  const auto count = static_cast<int64_t>(products.size());
  for (const ProductSlot& slot : product_slots(ConfigRef(model.config))) {
    if (held_config(slot.slot)->get_if<QuantizedProduct::Config>())
      put_config(slot.slot, AnyConfig::of(PlainProduct::Config{}));
  }
  model.model =
      model.config.build({}, Scope{.path = std::string(stored_prefix(Weights::kTrained))});
  return count;
}

}  // namespace axle
