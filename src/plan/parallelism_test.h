// For tests of parallelism: a small recipe with every kind of weight that a mesh shards, and
// functions that count the collectives of its program.
#pragma once

#include <algorithm>

#include "plan/compile_report.h"
#include "recipes/resolve/resolve.h"

namespace axle {

inline constexpr int64_t kNumLayers = 4;
// Sharded weights of a layer: the fused projection of queries, keys and values; the output
// projection; gate, up and down.
inline constexpr int64_t kShardedWeights = 5;

// Four layers with eight heads. The embedding is sharded over its vocabulary.
inline constexpr const char* kSmall = R"(
recipe: fuji-7B-v2
modify:
  - SetPartition: {at: "model.decoder.emb", partition: "[model, [expert, fsdp, seq]]"}
set:
  model.decoder.model_dim: 64
  model.decoder.layers.num_layers: 4
  model.decoder.layers.layer.attention.body.num_heads: 8
  model.decoder.layers.layer.attention.body.num_kv_heads: 8
  model.decoder.vocab_size: 256
  input.seq_len: 64
  input.batch_size: 16
)";
// Two heads for keys and values. Their weights are sharded over all axes, as in FSDP.
inline constexpr const char* kFewKeyHeads = R"(
replace: {FusedQKV: SeparateQKV}
modify:
  - SetPartition: {at: "**.k_proj", partition: "[[expert, fsdp, seq, model], None, None]"}
  - SetPartition: {at: "**.v_proj", partition: "[[expert, fsdp, seq, model], None, None]"}
set: {model.decoder.layers.layer.attention.body.num_kv_heads: 2}
)";

/// Returns the report of the small recipe's training step for target `on`. `yaml` changes the
/// recipe; empty: no change.
inline CompileReport report_of_small(const std::string& on, const std::string& mesh,
                                     const std::string& yaml, const std::string& compute_dtype) {
  const Target target = parse_target(on);
  ResolveRequest request{
      .files = {parse_recipe_file(kSmall, "small.yaml")},
      .edits = {SetField{"mesh", mesh}, SetField{"compute_dtype", compute_dtype},
                SetField{"learner.device_rows", "none"}},  // the collectives of one part
      .machine = target.machine()};
  if (!yaml.empty()) request.files.push_back(parse_recipe_file(yaml, "more.yaml"));
  return compile_step(lower_step(resolve_config(request).config, "small", target));
}

struct What {
  std::string kind;
  std::string axis;
  bool backward;
  std::string op = {};  // empty: any
};

// Returns how often a step runs the collectives that `what` describes within the layers.
inline int64_t count_in_layers(const CompileReport& report, const What& what) {
  int64_t count = 0;
  for (const CollectiveRow& row : *report.collectives) {
    if (row.kind == what.kind && row.axes == std::vector{what.axis} &&
        row.backward == what.backward && row.layer.starts_with("model/decoder/layers") &&
        (what.op.empty() || row.op == what.op))
      count += row.count;
  }
  return count;
}

/// Returns the bytes of the largest all-gather within the layers over the axis of tensor
/// parallelism.
inline int64_t most_gathered_over_model(const CompileReport& report) {
  int64_t most = 0;
  for (const CollectiveRow& row : *report.collectives) {
    const bool over_model = std::ranges::any_of(
        row.axes, [](const std::string& axis) { return axis.starts_with("model"); });
    if (row.kind == "all-gather" && over_model && row.layer.starts_with("model/decoder/layers"))
      most = std::max(most, row.bytes / row.count);
  }
  return most;
}

inline int64_t count_of_kind(const CompileReport& report, std::string_view kind) {
  int64_t count = 0;
  for (const CollectiveRow& row : *report.collectives) count += row.kind == kind ? row.count : 0;
  return count;
}

}  // namespace axle
