// The tensor graph: op nodes inside regions, and Tensor, the handle that user code computes with.
//
// A Tensor is symbolic: it names one result of one op (or one parameter) of the region that is
// being traced. The data are in HostTensors and in the arrays of a runtime.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/call_site.h"
#include "ir/dtype.h"
#include "ir/type.h"

namespace axle {

class OpRules;
class Region;
struct OpNode;

/// The static arguments of an op. Each op that has any derives a plain struct from this one.
struct Attributes {
  virtual ~Attributes() = default;
  /// Returns a text for printing and comparison: equal texts mean equal attributes.
  virtual std::string text() const = 0;
};

/// Ops emitted by a pullback are backward. transform/partition.h splits a joint region into
/// forward and backward by this tag.
enum class Phase : uint8_t { kForward, kBackward };

/// One result of an op or one parameter of a region. A default-constructed Tensor is "none" (a
/// symbolic zero cotangent).
///
/// A tensor is valid as long as its region. Afterwards, everything but comparison throws
/// InternalError.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const OpNode* node, uint32_t index);

  const Type& type() const;
  const Shape& shape() const { return type().dims; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return type().rank(); }
  /// Size of dim i; negative i counts from the end.
  int64_t dim(int64_t i) const;

  const OpNode* node() const;
  uint32_t index() const { return index_; }
  bool is_parameter() const;
  explicit operator bool() const { return node_ != nullptr; }
  /// True for the same result of the same op. Elementwise equality is equal() of
  /// ops/elementwise/elementwise.h.
  friend bool same(const Tensor& a, const Tensor& b) {
    return a.node_ == b.node_ && a.index_ == b.index_ && a.generation_ == b.generation_;
  }
  friend struct TensorHash;

 private:
  const OpNode* node_ = nullptr;
  uint32_t index_ = 0;
  uint32_t generation_ = 0;  // `generation` of the node when this handle was made
};
using Values = std::vector<Tensor>;
std::vector<Type> types_of(const Values& values);

struct TensorHash {
  size_t operator()(const Tensor& t) const {
    return std::hash<const void*>()(t.node_) * 31 + t.index_;
  }
};
struct TensorSame {
  bool operator()(const Tensor& a, const Tensor& b) const { return same(a, b); }
};

/// Where an op comes from.
struct OpOrigin {
  const OpRules* rules = nullptr;  // nullptr: a parameter of its region
  // Interned path of the layer that emitted the op, or the name of a parameter.
  const std::string* scope = nullptr;
  const CallSite* calls = nullptr;
};

struct OpNode : OpOrigin {
  Values inputs = {};
  std::vector<Type> outputs = {};
  std::shared_ptr<const Attributes> attributes = {};
  std::vector<std::shared_ptr<const Region>> regions = {};
  Region* parent = nullptr;
  uint32_t id = 0;  // ascending within the region
  /// The number of regions that used this memory before. Nodes are reused and never freed, so that
  /// a handle can detect that its own node is gone.
  uint32_t generation = 0;
  /// Of the node that used this memory in the generation before, for errors.
  OpOrigin previous = {};
  Phase phase = Phase::kForward;

  template <class A>
  const A& attrs() const {
    return static_cast<const A&>(*attributes);
  }
  const Region& region(size_t i = 0) const { return *regions[i]; }
  Tensor result(uint32_t i = 0) const { return {this, i}; }
  Values results() const;
};

/// Throws the InternalError for a tensor of `generation` of the node's memory, whose trace is over.
[[noreturn]] void fail_ended_trace(const OpNode& node, uint32_t generation);

inline Tensor::Tensor(const OpNode* node, uint32_t index)
    : node_(node), index_(index), generation_(node ? node->generation : 0) {}
inline const OpNode* Tensor::node() const {
  if (node_ && node_->generation != generation_) fail_ended_trace(*node_, generation_);
  return node_;
}

/// A closed piece of a program: its ops use only its own parameters and ops. During tracing, ops
/// may also use values of outer regions (captures); closing the region converts the captures to
/// leading parameters.
class Region {
 public:
  explicit Region(Region* outer = nullptr) : outer_(outer) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Tensor add_parameter(Type type, std::string_view name = {});
  /// Names a parameter of this region, for messages.
  void name_parameter(const Tensor& parameter, std::string_view name);
  OpNode* append(const OpRules& rules, Values inputs, std::shared_ptr<const Attributes> attributes,
                 std::vector<std::shared_ptr<const Region>> regions);
  void set_results(Values results);
  /// Returns `t` as seen in this region: `t` itself, or the capture that stands for it. Throws
  /// InternalError for a leaked tensor.
  Tensor use(const Tensor& t);
  /// Moves the captures to the front of the parameters, detaches the region from the outer one, and
  /// returns the captured outer values.
  Values close();
  /// Removes every op whose results are unused, except those with an effect (has_effect).
  void remove_dead_ops();

  const Values& parameters() const { return parameters_; }
  const Values& results() const { return results_; }
  const std::vector<const OpNode*>& ops() const { return ops_; }
  /// The number of parameters and ops that the region ever had, which is the largest id of a node.
  size_t num_nodes() const { return owned_.size(); }

 private:
  OpNode* new_node();
  Region* outer_;
  Values parameters_, results_;
  std::vector<const OpNode*> ops_;
  std::vector<OpNode*> owned_;
  std::unordered_map<Tensor, Tensor, TensorHash, TensorSame> capture_of_;
  // Pairs of a value of the next outer region and the parameter that stands for it here.
  std::vector<std::pair<Tensor, Tensor>> captures_;
};

/// While alive, this thread emits its ops into `region`.
class TraceScope {
 public:
  explicit TraceScope(Region& region);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  /// Returns the innermost region of this thread. Throws InternalError outside any trace.
  static Region& current();

 private:
  Region* saved_;
};

/// While alive, names the layer ("decoder/layers/layer") of all ops emitted.
class NameScope {
 public:
  explicit NameScope(std::string_view path);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  static const std::string* current();

 private:
  const std::string* saved_;
};

/// While alive, all ops emitted count as emitted where `op` was: in its layer, from its call site.
class OriginScope {
 public:
  explicit OriginScope(const OpNode& op);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  const std::string* saved_;
  CallSiteScope calls_;
};

/// While alive, tags all ops emitted as forward or backward.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phase saved_;
};

/// Appends an op to the current region, infers its result types and returns its results. Throws
/// ShapeError.
Values emit_all(const OpRules& rules, Values inputs,
                std::shared_ptr<const Attributes> attributes = {},
                std::vector<std::shared_ptr<const Region>> regions = {});
/// emit_all for ops with one result.
Tensor emit(const OpRules& rules, Values inputs, std::shared_ptr<const Attributes> attributes = {});
/// Allows emit(rules, inputs, SomeAttributes{...}).
template <std::derived_from<Attributes> A>
Tensor emit(const OpRules& rules, Values inputs, A attributes) {
  return emit(rules, std::move(inputs), std::make_shared<const A>(std::move(attributes)));
}

/// Describes where a value comes from, for messages: "f32[8, 64] of decoder/emb (gather at
/// src/layers/embedding.cpp:31)".
std::string describe(const Tensor& t);

/// Attributes of an op that dead code elimination keeps, such as a tap.
struct EffectAttributes : Attributes {};

/// Returns true if the attributes of the op, or of an op in its regions, are EffectAttributes.
bool has_effect(const OpNode& op);
bool has_effect(const Region& region);

/// A C++ number stored without conversion: no integer loses digits before the dtype is known.
class Scalar {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value)  // implicit: `x * 2`
      : value_(stored(value)) {}
  /// Takes a ranged number, such as a field of a config.
  template <class T>
  requires std::is_arithmetic_v<typename T::Number> Scalar(const T& field)  // implicit: as above
      : Scalar(static_cast<typename T::Number>(field)) {}

  /// Converts to the C++ type of a dtype (convert_element).
  template <class T>
  T as() const {
    return std::visit([](auto v) { return convert_element<T>(v); }, value_);
  }
  /// True if the dtype can hold this number. Floats hold every number (rounded); integers hold
  /// whole numbers in their range, and predicates 0 and 1.
  bool fits(DType dtype) const;
  /// Returns the fewest decimal digits from which the number can be read back exactly.
  std::string text() const;

 private:
  template <class T>
  static auto stored(T value) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(value);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<uint64_t>(value);
    else
      return static_cast<int64_t>(value);
  }
  std::variant<int64_t, uint64_t, double> value_;
};

}  // namespace axle
