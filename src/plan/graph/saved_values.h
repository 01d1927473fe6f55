// The values that a training step keeps from the forward pass for the backward pass.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lower/stablehlo.h"
#include "ops/annotate.h"

namespace axle {

struct SavedValue {
  Type type;  // as it is kept: with a leading dim if a loop stacks it
  /// Iterations of the loop that stacks the value; 0: no loop does.
  int64_t iterations = 0;
  /// The op that computes the value, and the names that name(x, tag) sets for it or its parts,
  /// "q_proj, qkv"; "" for none.
  std::string op = {}, name = {};
  std::string layer = {};  // the layer of that op
  /// An op that reads the value in the backward pass, and its layer.
  std::string reader = {}, reader_layer = {};
  bool is_on_host = false;
  /// True for an argument of the step, which is in memory anyway. `op` is then its name.
  bool is_argument = false;
};

struct SavedValues {
  std::vector<SavedValue> values;  // in order of definition; arguments first
  /// Returns the bytes of the values that are kept in this memory; without arguments.
  double bytes(Memory memory) const;
};

/// Lists the values that backward ops of the step read and forward ops have computed, those
/// computed in `layer` and below alone if it is not empty. For the result of a cheap op (reshape,
/// broadcast, ...), the operand is kept instead.
SavedValues saved_values(const Region& step, const std::string& layer);

std::string to_text(const SavedValues& saved);
/// {values: [{type, bytes, iterations, op, name, layer, reader, reader_layer, on_host, argument}],
/// device_bytes, host_bytes}
nlohmann::ordered_json to_json(const SavedValues& saved);

}  // namespace axle
