// The training state on the devices: named arrays in the order that the programs take.
#pragma once

#include <vector>

#include "runtime/runtime.h"

namespace axle {

struct DeviceState {
  std::vector<ProgramValue> leaves;  // names, types, shardings; sorted by name
  Arrays arrays;                     // one for each leaf

  /// The arrays below `prefix` ("model"), in order.
  Arrays below(std::string_view prefix) const {
    Arrays out;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i].name.starts_with(std::string(prefix) + "/")) out.push_back(arrays[i]);
    }
    return out;
  }
};

}  // namespace axle
