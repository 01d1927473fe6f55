// What a program is lowered for, and what lowering chose because of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace axle {

/// The target of a lowering. The default names none: the text then suits every platform.
struct LoweringTarget {
  /// "cpu", "cuda", "tpu", ...
  std::string platform = {};
  /// Empty if the target can call functions of this process (ops/kernels/host_kernel.h); else the
  /// reason why it can't.
  std::string no_host_kernels = "its programs run elsewhere";
  /// Returns the reason why the target's compiler lacks an op ("ragged_all_to_all"); none if it has
  /// the op. An empty function: nothing is known, so no such op is used.
  std::function<std::optional<std::string>(const std::string& op)> lacks = {};
};

/// How an op was lowered that has several forms.
struct LoweringChoice {
  std::string op = {};      // "kernel gated_silu", "ragged_all_to_all"
  std::string layer = {};   // path of the layer that emitted the op; empty: none
  std::string form = {};    // "host kernel 1", "fallback"
  std::string reason = {};  // why a better form was not taken; empty: the best one was
  bool operator==(const LoweringChoice&) const = default;
};

/// Writes "kernel gated_silu of decoder/mlp: fallback, since ...".
std::string to_text(const LoweringChoice& choice);

}  // namespace axle
