// What a training step computes and keeps, by layer.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "lower/stablehlo.h"

namespace axle {

/// The sums over the ops of a layer and all layers below it, in one step on all devices together.
struct LayerRow {
  std::string path;  // "" for the whole step
  /// Ops of the program by StepStage; the body of a loop counts once.
  std::array<int64_t, 3> num_ops = {};
  /// Floating-point operations by StepStage; the body of a loop counts in each iteration.
  std::array<double, 3> flops = {};
  /// Bytes of operands and results by StepStage, as if no op were fused.
  std::array<double, 3> bytes = {};
  /// Bytes of the values that the forward pass keeps on the devices for the backward pass
  /// (SavedValues).
  double saved_bytes = 0;
  int64_t num_parameters = 0;
};

struct LayerTable {
  std::vector<LayerRow> rows;  // parents before children; the whole step or the layer first
  /// Which form layers compute and why, by path (CallForms).
  std::map<std::string, std::string> forms = {};
};

/// Sums up the ops of a step by layer, only in `layer` if it is not empty. Layers more than
/// `depth` below it are only part of their parents' sums. Ops outside of layers are only part of
/// the first row. Keeps the `forms` of the layers.
LayerTable layer_table(const Program& step, const std::string& layer,
                       const std::optional<int64_t>& depth,
                       const std::map<std::string, std::string>& forms = {});

std::string to_text(const LayerTable& table);
/// {layers: [{path, ops, flops, bytes, saved_bytes, parameters}], forms: {path: form}}; ops, flops
/// and bytes are {forward, backward, update}.
nlohmann::ordered_json to_json(const LayerTable& table);

struct OpCount {
  std::string op;
  /// Ops of the program by StepStage; the body of a loop counts once.
  std::array<int64_t, 3> count = {};
  /// How often one step runs them; the body of a loop counts in each iteration.
  double runs = 0;
};

struct OpCounts {
  std::vector<OpCount> ops;  // sorted by name
};

/// Counts the ops of a step, only in `layer` and below if it is not empty.
OpCounts op_counts(const Region& step, const std::string& layer);

std::string to_text(const OpCounts& counts);
/// {ops: {name: {forward, backward, update, runs}}}
nlohmann::ordered_json to_json(const OpCounts& counts);

}  // namespace axle
