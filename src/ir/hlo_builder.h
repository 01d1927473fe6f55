// What an op's lowering rule writes with. Implemented by lower/, the only floor that knows
// StableHLO's text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/mesh.h"
#include "ir/tensor.h"

namespace axle {

/// A value of the lowered program: its name ("%12", "%4#1") and type.
struct HloValue {
  std::string name;
  Type type;
};
using HloValues = std::vector<HloValue>;

/// A region of an op: parameter types, and the function that writes its body and returns what the
/// region returns.
struct HloRegion {
  std::vector<Type> parameters;
  std::function<HloValues(const HloValues&)> body;
};

class HloBuilder {
 public:
  virtual ~HloBuilder() = default;
  /// Writes one op in the generic form: name "stablehlo.add", attributes "dimension = 1 : i64"
  /// (without brackets).
  virtual HloValues op(std::string_view name, const HloValues& operands,
                       const std::vector<Type>& results, std::string_view attributes = {},
                       const std::vector<HloRegion>& regions = {}) = 0;
  /// A constant with the same value everywhere (convert_element).
  virtual HloValue splat(const Type& type, Scalar value) = 0;
  virtual HloValue constant(const HostTensor& value) = 0;
  /// Writes the ops of `region` here, with `arguments` for its parameters.
  virtual HloValues inline_region(const Region& region, const HloValues& arguments) = 0;
  /// Calls the private function `name`, writing it by `body` on first use.
  virtual HloValues call(const std::string& name, const HloValues& arguments,
                         const std::vector<Type>& results,
                         const std::function<HloValues(const HloValues&)>& body) = 0;
  /// Constrains the sharding of `x`; dims of `spec` are replicated over axes that the mesh lacks or
  /// by which they do not divide.
  virtual HloValue sharding_constraint(const HloValue& x, const PartitionSpec& spec) = 0;
  /// Moves `x` to a memory of its device, named as plugins do: "device", "pinned_host".
  virtual HloValue place(const HloValue& x, std::string_view memory) = 0;

  /// op() for ops with one result.
  HloValue one(std::string_view name, const HloValues& operands, const Type& result,
               std::string_view attributes = {}, const std::vector<HloRegion>& regions = {}) {
    return op(name, operands, {result}, attributes, regions)[0];
  }
};

/// "array<i64: 0, 2>": how StableHLO spells a list of dims.
std::string mlir_array(const Shape& values);

}  // namespace axle
