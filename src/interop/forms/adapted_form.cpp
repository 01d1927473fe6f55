#include "interop/forms/adapted_form.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/document/print.h"
#include "layers/blocks/pattern.h"
#include "layers/blocks/repeat.h"
#include "layers/models/causal_lm.h"

namespace axle {
namespace {

// The layer that all of these are: the first one and those after it, by steps.
const Child<Block>& same_layer(const std::vector<Child<Block>>& layers, size_t first, size_t step,
                               const std::string& where) {
  for (size_t i = first + step; i < layers.size(); i += step) {
    const auto found = changes(layers[first], layers[i], fmt::format("layer {}", i));
    if (found.empty()) continue;
    throw ConfigError(
        fmt::format("{}: expected the adapters of layer {} in layer {}, got another: {}: {} and {}",
                    where, first, i, found.front().path, found.front().before.value_or("none"),
                    found.front().after.value_or("none")));
  }
  return layers.at(first);
}

}  // namespace

Child<Model> with_adapters(Child<Model> form, const PlainModel& model, const std::string& where) {
  Decoder::Config& decoder = *form.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.lm_head = model.decoder.lm_head;
  if (auto* const repeat = decoder.layers.get_if<Repeat>()) {
    repeat->layer = same_layer(model.layers, 0, 1, where);
    return form;
  }
  auto* const pattern = decoder.layers.get_if<Pattern>();
  AXLE_CHECK(pattern, "a family with another stack of layers");
  const size_t size = pattern->pattern.size();
  for (size_t i = 0; i < size; ++i) pattern->pattern[i] = same_layer(model.layers, i, size, where);
  return form;
}

}  // namespace axle
