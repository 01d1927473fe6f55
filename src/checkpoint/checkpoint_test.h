// Small states for the tests of checkpoint/.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "testing/environment_change.h"

namespace axle {

/// Tensors of several dtypes and shapes, about 40 kB, different at every step.
inline Tree<HostTensor> example_state(int64_t step) {
  std::mt19937 random(static_cast<unsigned>(step));
  const auto filled = [&](DType dtype, Shape shape) {
    HostTensor tensor(Type{dtype, std::move(shape)});
    for (std::byte& b : tensor.bytes()) b = static_cast<std::byte>(random() & 0x3f);
    return tensor;
  };
  Tree<HostTensor> state;
  state.emplace("learner/count", HostTensor::scalar(static_cast<int32_t>(step)));
  state.emplace("learner/m/weight", filled(DType::kF32, {64, 50}));
  state.emplace("model/empty", HostTensor(Type{DType::kF32, {0, 3}}));
  state.emplace("model/half", filled(DType::kBF16, {7, 3}));
  state.emplace("model/weight", filled(DType::kF32, {64, 100}));
  state.emplace("prng_key", filled(DType::kU32, {2}));
  return state;
}

inline Tree<std::string> example_metadata(int64_t step) {
  return {{"data", "{\"next_row\":" + std::to_string(8 * step) + "}"}, {"config", "\"a\\b\n"}};
}

/// While it lives, a TempDir is created in memory if the system has such a folder. The tests flush
/// many files, and the speed of a disk is not what they test.
class InMemory {
 public:
  InMemory() {
    if (!::getenv("TMPDIR") && ::access("/dev/shm", W_OK) == 0)
      change_.emplace("TMPDIR", "/dev/shm");
  }

 private:
  std::optional<EnvironmentChange> change_;
};

/// A Report that collects the lines.
struct Lines {
  std::vector<std::string> lines;
  void operator()(const std::string& line) { lines.push_back(line); }
};

}  // namespace axle
