// The training state on the devices: named arrays in the order in which the programs take them.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/runtime.h"

namespace axle {

struct DeviceState {
  std::vector<ProgramValue> leaves;  // names, types, shardings; sorted by name
  Arrays arrays;                     // one for each leaf

  /// Returns the arrays of the program's leading inputs, matched by name, up to the first input
  /// that is not a leaf of the state.
  Arrays leading(const Program& program) const {
    Arrays out;
    for (const ProgramValue& input : program.inputs) {
      const auto it = std::ranges::lower_bound(leaves, input.name, {}, &ProgramValue::name);
      if (it == leaves.end() || it->name != input.name) break;
      out.push_back(arrays[static_cast<size_t>(it - leaves.begin())]);
    }
    return out;
  }
};

}  // namespace axle
