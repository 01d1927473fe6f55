#include "layers/models/token_batch.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/movement/shape.h"

namespace axle {
namespace {

std::optional<Tensor> find(const Tree<Tensor>& batch, const std::string& name) {
  const auto it = batch.find(name);
  return it == batch.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

Tensor batch_tensor(const Tree<Tensor>& batch, const std::string& name, const Layer& model) {
  if (const auto found = find(batch, name)) return *found;
  throw ConfigError(fmt::format("{}: the batch must hold {}, got none",
                                model.path().empty() ? "the model" : model.path(), name));
}

MixerContext context_of(const Tree<Tensor>& batch) {
  Invocation& call = Invocation::current();
  call.set_segment_ids(find(batch, "input_segment_ids"));
  if (const auto streams_BTN = find(batch, kPositionStreams)) {
    if (streams_BTN->rank() != 3) {
      throw ShapeError(fmt::format("{}: expected [B, T, number of streams], got {}",
                                   kPositionStreams, to_text(streams_BTN->type())));
    }
    call.collection().published.insert_or_assign(kPositionStreams, move_axis(*streams_BTN, 2, 0));
  }
  return {.positions = find(batch, "input_positions"),
          .segment_ids = find(batch, "input_segment_ids"),
          .last_index = find(batch, "last_index"),
          .prefix_lengths = find(batch, "prefix_lengths")};
}

}  // namespace axle
