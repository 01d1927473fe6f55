// One row an op: everything that Axle knows of it stands in one OpRules constant, which enters the
// registry by itself.
//
// There is no enumeration of ops. A test over the registry (ops/registry_test.cpp) names every
// missing rule.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

class HloBuilder;
struct HloValue;

/// Operands, results and cotangents are different types, so a rule cannot take one for another.
template <int kKind>
class Operands {
 public:
  Operands(const OpNode& op, const Values& values) : op_(op), values_(values) {}
  const Tensor& operator[](size_t i) const { return values_[i]; }
  size_t size() const { return values_.size(); }
  const OpNode& op() const { return op_; }
  /// Attributes of the op.
  template <class A>
  const A& attrs() const {
    return op_.attrs<A>();
  }

 private:
  const OpNode& op_;
  const Values& values_;
};
using X = Operands<0>;
using Y = Operands<1>;
using Ct = Operands<2>;

/// How the interpreter stores floats: in f64 mode every float is a double (for gradient checks).
struct EvalOptions {
  bool f64 = false;
  /// The type that a value of `type` has in the interpreter's memory.
  Type stored(Type type) const {
    if (f64 && is_float(type.dtype)) type.dtype = DType::kF64;
    return type;
  }
};

/// What a pullback needs: cotangents of the results (none = zero) -> cotangents of the inputs (none
/// = zero).
using Pullback = std::function<Values(const Values&)>;
/// A differentiated op: its results, recomputed with what its pullback needs.
struct Linearized {
  Values outputs;
  Pullback pullback;
};

/// Types of the results; throws ShapeError (see shape_error).
using InferRule = std::vector<Type> (*)(const OpNode& op);
/// Batching rule; arrives with vmap.
using BatchRule = int (*)(const OpNode& op);
/// Cotangents of the inputs, one for each (none = zero). Only called with at least one cotangent;
/// the others are zeros.
using VjpRule = Values (*)(X x, Y y, Ct g);
/// For ops with regions: clones the op with new inputs so that `active` inputs can be
/// differentiated.
using LinearizeRule = Linearized (*)(const OpNode& op, const Values& inputs,
                                     const std::vector<bool>& active);
/// Computes the results from the inputs; outputs arrive zero-filled in their stored types.
using EvalRule = std::function<void(const EvalOptions&, const OpNode& op,
                                    std::span<const HostTensor* const> x, std::span<HostTensor> y)>;

/// Lowering: the name of a StableHLO op with the same operands and no attributes, or a function.
class HloRule {
 public:
  using Function = std::vector<HloValue> (*)(const OpNode& op, HloBuilder& b,
                                             const std::vector<HloValue>& x);
  HloRule(const char* name) : name_(name) {}  // NOLINT: rows read better without a call
  template <std::convertible_to<Function> F>
  HloRule(F f) : function_(f) {}  // NOLINT
  const char* name() const { return name_; }
  Function function() const { return function_; }

 private:
  const char* name_ = nullptr;
  Function function_ = nullptr;
};

/// Bytes of an op's operands and results.
double operand_and_result_bytes(const OpNode& op);
/// Of ops whose result is a part of their first operand: that part, read and written, and the other
/// operands.
double read_part_bytes(const OpNode& op);
/// Of ops that change a part of their first operand in place: the other operands, read, and as much
/// written.
double written_part_bytes(const OpNode& op);
/// 0, of ops that leave their operand where it is.
double no_bytes(const OpNode& op);

/// What one run of an op costs: floating-point operations, a number for each element of the first
/// result or a function of the op; and bytes read and written, as if the op stood alone.
class CostRule {
 public:
  using Function = double (*)(const OpNode& op);
  constexpr CostRule(double per_element = 0,  // NOLINT: rows read better without a call
                     Function moved = operand_and_result_bytes)
      : per_element_(per_element), bytes_(moved) {}
  template <std::convertible_to<Function> F>
  constexpr CostRule(F computed, Function moved = operand_and_result_bytes)  // NOLINT
      : flops_(computed), bytes_(moved) {}
  double flops(const OpNode& op) const {
    return flops_ ? flops_(op) : per_element_ * static_cast<double>(op.outputs[0].num_elements());
  }
  double bytes(const OpNode& op) const { return bytes_(op); }

 private:
  double per_element_ = 0;
  Function flops_ = nullptr;
  Function bytes_;
};
/// One multiply-add-sized operation for each element.
inline constexpr CostRule kElementwise{1};
/// exp, log, tanh, ...: counted as one by XLA's convention of separate transcendentals; 8
/// approximates their work.
inline constexpr CostRule kTranscendental{8};
/// Movement of data, integers: bytes but no floating-point operations.
inline constexpr CostRule kNoFlops{0};
/// A name, a wish or another view of the same bytes: nothing is computed or moved.
inline constexpr CostRule kView{0, no_bytes};

struct OpRow {
  std::string_view name;
  InferRule infer;
  BatchRule batch = nullptr;
  VjpRule vjp = nullptr;
  LinearizeRule linearize = nullptr;
  EvalRule eval;
  HloRule hlo;
  CostRule cost = {};
  /// Cheap to compute again: never kept as a residual across a region's split (shape ops, names,
  /// constants).
  bool cheap = false;
};

/// Enters the registry when constructed. Rows are constants of static storage.
class OpRules {
 public:
  explicit OpRules(OpRow row);
  OpRules(const OpRules&) = delete;
  OpRules& operator=(const OpRules&) = delete;
  const OpRow& row() const { return row_; }
  std::string_view name() const { return row_.name; }
  bool differentiable() const { return row_.vjp != no_gradient; }
  /// The vjp of ops whose result does not change smoothly with any input.
  static Values no_gradient(X, Y, Ct);

 private:
  OpRow row_;
};
/// For rows: `.vjp = no_gradient`.
inline constexpr VjpRule no_gradient = &OpRules::no_gradient;

/// Every op that is linked in, in no particular order.
const std::vector<const OpRules*>& all_ops();

/// "<layer>: <op>: <what>; operands: f32[8, 4] of <layer> (<op>), ...".
[[noreturn]] void shape_error(const OpNode& op, std::string_view what);

}  // namespace axle
