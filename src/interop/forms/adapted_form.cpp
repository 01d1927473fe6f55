#include "interop/forms/adapted_form.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/document/print.h"
#include "layers/blocks/pattern.h"
#include "layers/blocks/repeat.h"
#include "layers/blocks/stacked.h"
#include "layers/models/causal_lm.h"

namespace axle {
namespace {

// The layer that all of these are: those from the first one to before the end, by steps.
const Child<Block>& same_layer(const std::vector<Child<Block>>& layers, size_t first, size_t end,
                               size_t step, const std::string& where) {
  for (size_t i = first + step; i < end; i += step) {
    const auto found = changes(layers[first], layers[i], fmt::format("layer {}", i));
    if (found.empty()) continue;
    throw ConfigError(
        fmt::format("{}: expected the adapters of layer {} in layer {}, got another: {}: {} and {}",
                    where, first, i, found.front().path, found.front().before.value_or("none"),
                    found.front().after.value_or("none")));
  }
  return layers.at(first);
}

// Puts the layers from `first` on into the stack; returns how many it has.
size_t put_layers(Child<Block>& stack, const std::vector<Child<Block>>& layers, size_t first,
                  const std::string& where) {
  if (auto* const repeat = stack.get_if<Repeat>()) {
    const auto count = static_cast<size_t>(int64_t{*repeat->num_layers});
    repeat->layer = same_layer(layers, first, first + count, 1, where);
    return count;
  }
  if (auto* const stacked = stack.get_if<Stacked>()) {
    size_t count = 0;
    for (Child<Block>& part : stacked->layers)
      count += put_layers(part, layers, first + count, where);
    return count;
  }
  auto* const pattern = stack.get_if<Pattern>();
  AXLE_CHECK(pattern, "a family with another stack of layers");
  const size_t size = pattern->pattern.size(),
               count = static_cast<size_t>(int64_t{*pattern->num_layers});
  for (size_t i = 0; i < size; ++i)
    pattern->pattern[i] = same_layer(layers, first + i, first + count, size, where);
  return count;
}

}  // namespace

Child<Model> with_adapters(Child<Model> form, const PlainModel& model, const std::string& where) {
  Decoder::Config& decoder = *form.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.lm_head = model.decoder.lm_head;
  put_layers(decoder.layers, model.layers, 0, where);
  return form;
}

}  // namespace axle
