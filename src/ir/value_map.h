// Maps and sets of the values of one region.
//
// Ids of ops count up within their region, so that a lookup is two array accesses.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace axle {

/// A map from tensors of one region to values of T. The first insertion decides the region;
/// inserting a tensor of another region throws InternalError, and finds of such tensors are empty.
/// An insertion ends the life of pointers and references into the map.
template <class T>
class ValueMap {
 public:
  /// Returns the value of `t`, nullptr if there is none.
  const T* find(const Tensor& t) const { return find_in(*this, t); }
  T* find(const Tensor& t) { return find_in(*this, t); }
  bool contains(const Tensor& t) const { return find(t) != nullptr; }
  /// Throws InternalError if there is none.
  const T& at(const Tensor& t) const {
    const T* const thing = find(t);
    if (thing == nullptr) fail_missing(t);
    return *thing;
  }
  /// Inserts a default value if there is none.
  T& operator[](const Tensor& t) {
    std::optional<T>& thing = slot(t);
    return thing ? *thing : thing.emplace();
  }
  /// Inserts, unless there is one already. Returns true if it inserted.
  bool insert(const Tensor& t, T value) {
    std::optional<T>& thing = slot(t);
    if (thing) return false;
    thing.emplace(std::move(value));
    return true;
  }
  void erase(const Tensor& t) {
    if (contains(t)) slot(t).reset();
  }

 private:
  // find() of maps that are const and of those that are not.
  template <class Map>
  static auto find_in(Map& map, const Tensor& t) -> decltype(&*map.things_[0]) {
    const OpNode* const op = t.node();
    if (op == nullptr || op->parent != map.region_ || op->id >= map.first_.size()) return nullptr;
    const uint32_t first = map.first_[op->id];
    if (first == kNone) return nullptr;
    auto& thing = map.things_[first + t.index()];
    return thing ? &*thing : nullptr;
  }
  static constexpr uint32_t kNone = 0xffffffff;

  [[noreturn]] static void fail_missing(const Tensor& t) {
    throw InternalError("no entry for " + describe(t));
  }
  std::optional<T>& slot(const Tensor& t) {
    const OpNode* const op = t.node();
    AXLE_CHECK(op, "an empty Tensor as a key");
    if (region_ == nullptr) region_ = op->parent;
    AXLE_CHECK(op->parent == region_, "a value of another region: " + describe(t));
    if (op->id >= first_.size()) first_.resize(op->id + op->id / 2 + 16, kNone);
    uint32_t& first = first_[op->id];
    if (first == kNone) {
      first = static_cast<uint32_t>(things_.size());
      things_.resize(things_.size() + op->outputs.size());
    }
    return things_[first + t.index()];
  }

  const Region* region_ = nullptr;
  std::vector<uint32_t> first_;  // by id of the op: where the things of its results begin
  std::vector<std::optional<T>> things_;
};

/// A set of values of one region. The rules of ValueMap hold.
class ValueSet {
 public:
  ValueSet() = default;
  template <class Range>
  explicit ValueSet(const Range& values) {
    insert_all(values);
  }
  bool contains(const Tensor& t) const { return marks_.contains(t); }
  /// Returns true if `t` was not in the set.
  bool insert(const Tensor& t) { return marks_.insert(t, {}); }
  template <class Range>
  void insert_all(const Range& values) {
    for (const Tensor& t : values) insert(t);
  }

 private:
  struct Mark {};
  ValueMap<Mark> marks_;
};

/// Checks that operands are defined before use inside the same region, that each op infers its
/// recorded types, and that nested regions are closed. The infer rule of an op with regions also
/// checks that they fit its operands and its attributes. Throws InternalError naming the op.
/// Transforms call it through verify_if_asked.
void verify(const Region& region);

/// Checks the phases in a joint region (transform/partition.h): nothing of the forward part
/// uses a value of the backward part. The forward part has the first `num_parameters` parameters,
/// the ops of Phase::kForward and the first `num_results` results. Outside of joint regions phases
/// have no meaning. Throws InternalError naming the op.
void verify_phases(const Region& region, size_t num_parameters, size_t num_results);

/// Call verify, or both, where the environment variable AXLE_VERIFY is 1: tests and searches for
/// a fault of a transform set it. Otherwise they do nothing.
void verify_if_asked(const Region& region);
void verify_joint_if_asked(const Region& region, size_t num_parameters, size_t num_results);

/// Returns a hash of the region's parameters, ops and results: types, attributes, wiring and nested
/// regions. Layer paths, phases and names of parameters do not count. It is the same in every
/// process.
uint64_t structure_hash(const Region& region);

/// True if both regions have the same ops in the same order, with equal attributes, types and
/// wiring. What structure_hash leaves out does not count here either.
bool same_structure(const Region& a, const Region& b);

}  // namespace axle
