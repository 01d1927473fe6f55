// One row per op: one OpRules constant holds everything that Axle knows about the op, and registers
// itself.
//
// There is no enumeration of ops. A test over the registry (transform/laws/registry_test.cpp) names
// every missing rule.
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

namespace axle {

class HloBuilder;
struct HloValue;

/// X: the operands of an op. Y: its results. Ct: the cotangents of its results. They have different
/// C++ types, so that a rule cannot confuse them.
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

/// How the interpreter stores floats. In f64 mode every float is a double (for gradient checks).
struct EvalOptions {
  bool f64 = false;
  /// Returns the type that a value of `type` has in the interpreter's memory.
  Type stored(Type type) const {
    if (f64 && is_float(type.dtype)) type.dtype = DType::kF64;
    if (f64 && is_complex(type.dtype)) type.dtype = DType::kC128;
    return type;
  }
};

/// Maps the cotangents of the results to the cotangents of the inputs. An empty Tensor stands for
/// zero on both sides.
using Pullback = std::function<Values(const Values&)>;
/// A differentiated op: its results, computed together with the residuals of its pullback.
struct Linearized {
  Values outputs;
  Pullback pullback;
};

/// Returns the types of the results. Throws ShapeError (see shape_error).
using InferRule = std::vector<Type> (*)(const OpNode& op);

/// An operand or a result of an op under vmap. If it is batched, its dim 0 runs over the batch.
struct Batched {
  Tensor value = {};
  bool is_batched = false;
};
/// The axis that a vmap adds.
struct BatchAxis {
  int64_t size = 0;
  /// Mesh axes over which the batch is sharded; none: the partitioner decides.
  DimAxes mesh_axes = {};
};
/// The operands of an op under vmap. At least one of them is batched.
class BatchX {
 public:
  BatchX(const OpNode& op, std::span<const Batched> values, const BatchAxis& axis)
      : op_(op), values_(values), axis_(axis) {}
  /// Operand i as it is, with or without the batch dim.
  const Tensor& operator[](size_t i) const { return values_[i].value; }
  bool is_batched(size_t i) const { return values_[i].is_batched; }
  size_t size() const { return values_.size(); }
  std::span<const Batched> values() const { return values_; }
  const BatchAxis& axis() const { return axis_; }
  const OpNode& op() const { return op_; }
  template <class A>
  const A& attrs() const {
    return op_.attrs<A>();
  }

 private:
  const OpNode& op_;
  std::span<const Batched> values_;
  const BatchAxis& axis_;
};
/// Emits an op that computes `op` for every element of the batch, and returns its results. Helpers
/// and rules of families are in ops/rules.h.
using BatchRule = std::vector<Batched> (*)(BatchX x);
/// Returns the cotangent of each input; an empty Tensor stands for zero. Called only if some result
/// has a cotangent; the cotangents of the other results are then tensors of zeros.
using VjpRule = Values (*)(X x, Y y, Ct g);
/// For ops with regions: clones the op with new inputs, so that the inputs marked in `active` can
/// be differentiated.
using LinearizeRule = Linearized (*)(const OpNode& op, const Values& inputs,
                                     const std::vector<bool>& active);
/// Results of an op, and their tangents. An empty tangent stands for zero.
struct PushedForward {
  Values outputs;
  Values tangents;
};
/// For ops without reverse mode: emits an op that computes the results together with their
/// derivatives in the direction of the tangents of the inputs.
using PushForwardRule = PushedForward (*)(const OpNode& op, const Values& inputs,
                                          const Values& tangents);
/// How a forward value reaches the backward part of a program. kOffload: it is kept in host memory,
/// if the target supports that, else on the device.
enum class Residual { kRecompute, kSave, kOffload };
/// Decides for the results of each forward op. For named policies see transform/remat.
using ResidualPolicy = std::function<Residual(const OpNode&)>;
/// How an op repeats a region. kIterations: trip after trip of a loop; kDevices: on each device.
enum class Repeats { kOnce, kIterations, kDevices };
/// How often an op computes a region: the trip count of a loop, for other ops 1 or a number of
/// devices.
struct RegionTrips {
  Repeats repeats = Repeats::kOnce;
  /// None: known only at run time; with kOnce: it may not run (a branch).
  std::optional<int64_t> count = 1;
  bool is_reversed = false;         // trip 0 is the last
  bool is_open = true;              // false: the op returns no extra values of the region
  std::vector<MeshAxis> axes = {};  // kDevices: the grid of the devices, row-major
};
/// How a value gets into the trips of a region, or out of them. An op takes its operands, and a
/// region its parameters, in this order.
enum class Flow {
  kWhole,    // as it is, in every trip
  kCarried,  // from trip to trip: the operand goes into the first, the last returns the result
  kSliced,   // along the leading dim, a slice for each trip
  kPart,     // along the dims that `spec` divides, a part for each device
};
/// A connection: region parameter <- operand, or result of the op <- result of the region.
struct Port {
  size_t at = 0;  // number of the operand, or of the op's result
  Flow flow = Flow::kWhole;
  size_t carried_from = 0;  // kCarried, of parameters: number of the op's result
  PartitionSpec spec = {};  // kPart
  bool is_needed = false;   // the op takes this operand also if the region does not read it
  bool operator==(const Port&) const = default;
};
/// What flows through a region. Results beyond `results` are for the op itself.
struct RegionFlow {
  std::vector<Port> parameters, results;
  RegionTrips trips = {};
};
struct BodyFlow {
  std::vector<RegionFlow> regions;
  /// How a value of the region that remat keeps leaves the forward op and enters the backward one.
  /// None: nothing inside can be kept.
  std::optional<Port> kept = {};
};
/// What an op returns whose regions return extra values.
struct Widened {
  Values results;             // the op's
  std::vector<Values> extra;  // for each region: its values, with a leading dim if it is repeated
  Values ran;  // for each region: a pred that says if it ran, or one for each trip; empty: always
};
using Regions = std::vector<std::shared_ptr<const Region>>;
/// What an op with regions says of them. All that looks into regions or changes them follows from
/// this (transform/bodies.h).
struct BodyRules {
  using FlowRule = BodyFlow (*)(const OpNode& op);
  /// Emits a copy of `op` with other regions. `flow` says how `operands` and results connect to
  /// them: ports number the elements of `operands`. A result that the branch taken does not return
  /// is zeros.
  using EmitRule = Values (*)(const OpNode& op, const BodyFlow& flow, Regions regions,
                              const Values& operands);
  /// Emits the op with regions that return the results of the op's regions, then extra values.
  /// Those of trips that do not happen are zeros. Where the trip count is not known, the values
  /// of the first `max_trips` are kept.
  using WidenRule = Widened (*)(const OpNode& op, const Values& operands, const Regions& regions,
                                int64_t max_trips);
  FlowRule flow = nullptr;
  EmitRule emit = nullptr;    // nullptr: it must stay as it is
  WidenRule widen = nullptr;  // nullptr: `emit` with more results
};
/// A closed interval of numbers; predicates are 0 and 1.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_one() const { return low == high; }
  bool operator==(const ValueRange&) const = default;
};
/// For ops of one result: returns numbers that hold every element of the result if the elements of
/// each operand lie in `x`. Operands have no NaN. nullptr: nothing is known.
using RangeRule = ValueRange (*)(const OpNode& op, std::span<const ValueRange> x);
/// Computes the results from the inputs. The results arrive zero-filled in their stored types.
using EvalRule = std::function<void(const EvalOptions&, const OpNode& op,
                                    std::span<const HostTensor* const> x, std::span<HostTensor> y)>;

/// The lowering of an op: the name of a StableHLO op with the same operands and no attributes, or a
/// function.
class HloRule {
 public:
  using Function = std::vector<HloValue> (*)(const OpNode& op, HloBuilder& b,
                                             const std::vector<HloValue>& x);
  HloRule(const char* name) : name_(name) {}  // implicit: rows read better
  template <std::convertible_to<Function> F>
  HloRule(F f) : function_(f) {}  // implicit
  const char* name() const { return name_; }
  Function function() const { return function_; }

 private:
  const char* name_ = nullptr;
  Function function_ = nullptr;
};

/// Returns the bytes of all operands and results.
double operand_and_result_bytes(const OpNode& op);
/// For ops whose result is a part of their first operand: returns the bytes of that part, read and
/// written, plus the bytes of the other operands.
double read_part_bytes(const OpNode& op);
/// For ops that update a part of their first operand in place: returns the bytes of the other
/// operands, counted as read and once more as written.
double written_part_bytes(const OpNode& op);
/// Returns 0, for ops that leave their operand where it is.
double no_bytes(const OpNode& op);

/// The cost of one run of an op: its floating-point operations (a number per element of the first
/// result, or a function of the op) and the bytes that it reads and writes, without fusion.
class CostRule {
 public:
  using Function = double (*)(const OpNode& op);
  constexpr CostRule(double per_element,  // implicit: rows read better
                     Function moved = operand_and_result_bytes)
      : per_element_(per_element), bytes_(moved) {}
  template <std::convertible_to<Function> F>
  constexpr CostRule(F computed, Function moved = operand_and_result_bytes)  // implicit
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
/// One operation, about as expensive as a multiply-add, for each element.
inline constexpr CostRule kElementwise{1};
/// exp, log, tanh, ...: XLA counts each as one in a separate total of transcendentals. 8
/// approximates their cost in floating-point operations.
inline constexpr CostRule kTranscendental{8};
/// Data movement and integer arithmetic: bytes but no floating-point operations.
inline constexpr CostRule kNoFlops{0};
/// Names, hints and other views of the same bytes: nothing is computed or moved.
inline constexpr CostRule kView{0, no_bytes};

/// What passes over many ops ask of each.
struct OpTraits {
  /// True for ops that are cheap to recompute (shape ops, names, constants). Their results are
  /// never kept as residuals when a region is split into forward and backward.
  bool cheap = false;
  /// True for products of two tensors, whose results remat policies keep first and which are the
  /// FLOPs of a model.
  bool is_product = false;
  /// True if each element of the result is an element of the only operand, converted to the dtype
  /// of the result.
  bool moves_elements = false;
  /// True for ops that must not be merged with an equal one, such as barriers.
  bool is_kept_apart = false;
};

struct OpRow {
  std::string_view name;
  InferRule infer;
  BatchRule batch = nullptr;
  VjpRule vjp = nullptr;
  LinearizeRule linearize = nullptr;
  PushForwardRule push_forward = nullptr;  // nullptr: forward mode transposes the pullback
  BodyRules body = {};                     // of an op with regions
  RangeRule range = nullptr;
  EvalRule eval;
  HloRule hlo;
  CostRule cost;  // no default: a row says what it costs, kNoFlops or kView if nothing
  OpTraits traits = {};
};

/// A row that registers itself when constructed. Rows are constants of static storage.
class OpRules {
 public:
  explicit OpRules(OpRow row);
  OpRules(const OpRules&) = delete;
  OpRules& operator=(const OpRules&) = delete;
  const OpRow& row() const { return row_; }
  std::string_view name() const { return row_.name; }
  bool differentiable() const { return row_.vjp != no_gradient; }
  /// The vjp of ops whose result does not depend smoothly on any input: all cotangents are zero.
  static Values no_gradient(X, Y, Ct);

 private:
  OpRow row_;
};
/// For op tables: `.vjp = no_gradient`.
inline constexpr VjpRule no_gradient = &OpRules::no_gradient;

/// Returns every op that is linked into the program, in no particular order.
const std::vector<const OpRules*>& all_ops();

/// Throws ShapeError "<layer>: <op> at <file>:<line>: <what>; operands: f32[8, 4] of <layer> (<op>
/// at <file>:<line>), ...". Lines that debug information does not provide are left out.
[[noreturn]] void shape_error(const OpNode& op, std::string_view what);
/// The same for an op that is not emitted yet.
[[noreturn]] void shape_error(std::string_view op, std::string_view what,
                              const Values& operands = {});

}  // namespace axle
