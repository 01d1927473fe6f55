// The tensor graph: op nodes inside regions, and Tensor, the handle that user code computes with.
//
// A Tensor is symbolic: it names one result of one op (or one parameter) of the region that is
// being traced. Data lives in HostTensor and in the arrays of a runtime.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/type.h"

namespace axle {

class OpRules;
class Region;
struct OpNode;

/// Static arguments of an op: each op that has any derives one plain struct from this.
struct Attributes {
  virtual ~Attributes() = default;
  /// For printing and comparison: equal texts mean equal attributes.
  virtual std::string text() const = 0;
};

/// Ops emitted by a pullback are backward; the split of a joint region cuts along this tag
/// (transform/partition.h).
enum class Phase : uint8_t { kForward, kBackward };

/// One result of an op or one parameter of a region; a default-constructed Tensor is "none" (a
/// symbolic zero cotangent).
///
/// A tensor lives as long as its region. All but the comparisons throw InternalError for one that
/// outlived it.
class Tensor {
 public:
  Tensor() = default;
  Tensor(OpNode* node, uint32_t index);

  const Type& type() const;
  const Shape& shape() const { return type().dims; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return type().rank(); }
  /// Size of dim i; negative i counts from the end.
  int64_t dim(int64_t i) const;

  OpNode* node() const;
  uint32_t index() const { return index_; }
  bool is_parameter() const;
  explicit operator bool() const { return node_ != nullptr; }
  /// The same result of the same op (not: equal elements, which is ops/elementwise/compare.h's equal()).
  friend bool same(const Tensor& a, const Tensor& b) {
    return a.node_ == b.node_ && a.index_ == b.index_ && a.life_ == b.life_;
  }
  friend struct TensorHash;

 private:
  OpNode* node_ = nullptr;
  uint32_t index_ = 0;
  uint32_t life_ = 0;  // of the node when this handle was made
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

struct OpNode {
  const OpRules* rules = nullptr;  // nullptr: a parameter of its region
  Values inputs = {};
  std::vector<Type> outputs = {};
  std::shared_ptr<const Attributes> attributes = {};
  std::vector<std::shared_ptr<const Region>> regions = {};
  Region* parent = nullptr;
  const std::string* scope =
      nullptr;      // interned path of the layer that emitted it, or the name of a parameter
  uint32_t id = 0;  // ascending within the region
  /// Regions that this memory has served before: nodes are used again but never freed, so that a
  /// handle can tell that its own is gone.
  uint32_t life = 0;
  Phase phase = Phase::kForward;

  template <class A>
  const A& attrs() const {
    return static_cast<const A&>(*attributes);
  }
  const Region& region(size_t i = 0) const { return *regions[i]; }
  Tensor result(uint32_t i = 0) { return {this, i}; }
  Values results();
};

/// Ends with the one error of a tensor that is used outside its trace; `what` describes it.
[[noreturn]] void leaked_tensor(std::string_view what);

inline Tensor::Tensor(OpNode* node, uint32_t index)
    : node_(node), index_(index), life_(node ? node->life : 0) {}
inline OpNode* Tensor::node() const {
  if (node_ && node_->life != life_) leaked_tensor("one whose trace is over");
  return node_;
}

/// A closed piece of program: it refers to its own parameters and ops alone. While it is traced,
/// values of outer regions may be used; they become leading parameters (captures) when the region
/// is closed.
class Region {
 public:
  explicit Region(Region* outer = nullptr) : outer_(outer) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Tensor add_parameter(Type type, std::string_view name = {});
  OpNode* append(const OpRules& rules, Values inputs, std::shared_ptr<const Attributes> attributes,
                 std::vector<std::shared_ptr<const Region>> regions);
  void set_results(Values results);
  /// `t` as seen in this region: itself, or the capture that stands for it. Throws InternalError
  /// for a leaked tensor.
  Tensor use(const Tensor& t);
  /// Moves the captures to the front of the parameters, forgets the outer region and returns the
  /// captured outer values.
  Values close();
  /// Drops every op whose results nobody uses.
  void remove_dead_ops();

  const Values& parameters() const { return parameters_; }
  const Values& results() const { return results_; }
  const std::vector<OpNode*>& ops() const { return ops_; }

 private:
  OpNode* new_node();
  Region* outer_;
  Values parameters_, results_;
  std::vector<OpNode*> ops_;
  std::vector<OpNode*> owned_;
  std::unordered_map<Tensor, Tensor, TensorHash, TensorSame> capture_of_;
  std::vector<std::pair<Tensor, Tensor>>
      captures_;  // value of the next outer region -> parameter here
};

/// Makes `region` the one that ops of this thread are emitted into.
class TraceScope {
 public:
  explicit TraceScope(Region& region);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  /// The innermost region of this thread. Throws InternalError outside any trace.
  static Region& current();
  /// The same, or nullptr outside any trace.
  static Region* current_or_null();

 private:
  Region* saved_;
};

/// Names the layer ("decoder/layers/layer") of all ops emitted within.
class NameScope {
 public:
  explicit NameScope(std::string_view path);
  /// From OpNode::scope; nullptr names nothing.
  explicit NameScope(const std::string* interned);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  static const std::string* current();

 private:
  const std::string* saved_;
};

/// Marks all ops emitted within as forward or backward.
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
/// emit(rules, inputs, SomeAttributes{...}).
template <std::derived_from<Attributes> A>
Tensor emit(const OpRules& rules, Values inputs, A attributes) {
  return emit(rules, std::move(inputs), std::make_shared<const A>(std::move(attributes)));
}

/// Where a value comes from, for messages: "f32[8, 64] of decoder/emb (gather)".
std::string describe(const Tensor& t);

}  // namespace axle
