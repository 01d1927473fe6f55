// The interface that the lowering rules of ops write to. lower/ implements it and is the only
// folder that knows the text format of StableHLO. "Hlo" stands for StableHLO here; the folder hlo/
// reads XLA's optimised HLO.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

/// The target of a lowering. The default names none: the text then suits every platform.
struct LoweringTarget {
  /// "cpu", "cuda", "tpu", ...
  std::string platform = {};
  /// Empty if the target can call functions of this process (ops/kernels/kernel.h); else the
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

/// A value of the lowered program: its name ("%12", "%4#1") and type.
struct HloValue {
  std::string name;
  Type type;
};
using HloValues = std::vector<HloValue>;

/// A region of an op: its parameter types, and a function that writes the body and returns the
/// results of the region.
struct HloRegion {
  std::vector<Type> parameters;
  std::function<HloValues(const HloValues&)> body;
};

class HloBuilder {
 public:
  virtual ~HloBuilder() = default;
  /// Writes one op in MLIR's generic form: name "stablehlo.add", attributes "dimension = 1 : i64"
  /// (without brackets).
  virtual HloValues op(std::string_view name, const HloValues& operands,
                       const std::vector<Type>& results, std::string_view attributes = {},
                       const std::vector<HloRegion>& regions = {}) = 0;
  /// Writes a constant that has `value` in every element (converted by convert_element).
  virtual HloValue splat(const Type& type, Scalar value) = 0;
  virtual HloValue constant(const HostTensor& value) = 0;
  /// Writes the ops of `region` here, with `arguments` for its parameters.
  virtual HloValues inline_region(const Region& region, const HloValues& arguments) = 0;
  /// Calls the private function `name`; the first call writes its definition with `body`.
  virtual HloValues call(const std::string& name, const HloValues& arguments,
                         const std::vector<Type>& results,
                         const std::function<HloValues(const HloValues&)>& body) = 0;
  /// Constrains the sharding of `x`. A dim of `spec` is replicated over mesh axes that the mesh
  /// lacks or whose size does not divide the dim.
  virtual HloValue sharding_constraint(const HloValue& x, const PartitionSpec& spec) = 0;
  /// Moves `x` to a memory space of its device, by the plugin's name for it: "device",
  /// "pinned_host".
  virtual HloValue place(const HloValue& x, std::string_view memory) = 0;
  /// The mesh of the program.
  virtual const Mesh& mesh() const = 0;
  /// What the program is lowered for. A rule that asks for it records what it chose.
  virtual const LoweringTarget& target() = 0;
  virtual void record(LoweringChoice choice) = 0;
  /// Returns the axes of the mesh over which the partitioner divides the work here: the axes of
  /// size > 1 that are not manual. None: each device works on parts of its own.
  virtual std::vector<MeshAxis> automatic_axes() const = 0;
  /// Returns a number for the channel of a collective, another one on each call.
  virtual int64_t next_channel() = 0;
  /// Writes a computation over the parts of tensors that each device holds along the manual axes:
  /// `body` takes parts of the operands, by `in_specs`, and returns parts of the results, by
  /// `out_specs`.
  virtual HloValues manual_computation(const HloValues& operands,
                                       const std::vector<PartitionSpec>& in_specs,
                                       const std::vector<PartitionSpec>& out_specs,
                                       const std::vector<std::string>& manual_axes,
                                       const std::vector<Type>& parts,
                                       const std::vector<Type>& results,
                                       const std::function<HloValues(const HloValues&)>& body) = 0;

  /// op() for ops with one result.
  HloValue one(std::string_view name, const HloValues& operands, const Type& result,
               std::string_view attributes = {}, const std::vector<HloRegion>& regions = {}) {
    return op(name, operands, {result}, attributes, regions)[0];
  }
};

/// Returns a list of dims in StableHLO's spelling: "array<i64: 0, 2>".
std::string mlir_array(const Shape& values);

}  // namespace axle
