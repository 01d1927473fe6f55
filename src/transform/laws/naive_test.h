// Naive references of all ops: what each row of the registry means, written again from its
// definition with loops over elements.
//
// They share no code with the rows. Real numbers are long doubles, which hold every element of
// every dtype exactly. The attributes of an op are read from their text, which thus is checked too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_rules.h"

namespace axle::testing {

/// A tensor of numbers without rounding.
struct Naive {
  Type type = {};
  std::vector<long double> re = {};
  std::vector<long double> im = {};  // empty unless complex

  Naive() = default;
  /// Zeros.
  explicit Naive(Type t);
  size_t size() const { return re.size(); }
  int64_t dim(int64_t d) const;
};
using Naives = std::vector<Naive>;

Naive naive(const HostTensor& x);
/// Returns x rounded to the dtype of `type`; integers must fit.
HostTensor rounded_host(const Naive& x);

/// The attributes of an op, from their text "axis = 1, sizes = [2, 3], sorted".
class AttributeText {
 public:
  explicit AttributeText(const OpNode& op);
  const std::string& text() const { return text_; }
  /// True if the text has this key, with or without a value.
  bool has(std::string_view key) const;
  /// Returns the text after "key = "; empty if there is none.
  std::string value(std::string_view key) const;
  /// Returns all integers of the value, in order.
  std::vector<int64_t> numbers(std::string_view key) const;
  int64_t number(std::string_view key) const;

 private:
  std::string text_;
  std::map<std::string, std::string, std::less<>> values_;
};

/// A call of an op: its operands and the types that its results have in the interpreter.
struct NaiveCall {
  const OpNode& op;
  const Naives& x;
  const EvalOptions& options;
  AttributeText attrs;
  Type result(size_t i = 0) const { return options.stored(op.outputs[i]); }
};
using Reference = std::function<Naives(const NaiveCall&)>;
/// Takes the operands of each device of a group, in order, and the type of the result; returns the
/// result of each device.
using CollectiveReference =
    std::function<Naives(const AttributeText&, const std::vector<Naives>&, const Type&)>;

using References = std::map<std::string, Reference, std::less<>>;
using CollectiveReferences = std::map<std::string, CollectiveReference, std::less<>>;

void add_elementwise_references(References& out);
void add_bits_references(References& out);
void add_movement_references(References& out);
void add_indexing_references(References& out);
void add_reduction_references(References& out);
void add_product_references(References& out);
void add_window_references(References& out);
void add_random_references(References& out);
void add_linalg_references(References& out);
void add_body_references(References& out);

/// The references of all ops but collectives.
const References& references();
const CollectiveReferences& collective_references();

/// Runs a region by the references alone.
Naives run_naively(const Region& region, const Naives& arguments, const EvalOptions& options);
/// Runs a region on each device of a mesh, op by op: arguments[d] are those of device d.
std::vector<Naives> run_on_devices(const Region& region, const std::vector<Naives>& arguments,
                                   const Mesh& mesh, const EvalOptions& options);

/// Calls fn(index) for each index of a tensor of this shape, in row-major order.
template <class F>
void each_index(const Shape& shape, F fn) {
  int64_t count = 1;
  for (const int64_t n : shape) count *= n;
  Shape index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    fn(static_cast<const Shape&>(index));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}
/// Returns the row-major position of an index.
inline size_t position(const Shape& shape, const Shape& index) {
  size_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    at = at * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
  return at;
}
/// Sets element `to` of y to element `from` of x.
inline void copy_element(const Naive& x, size_t from, Naive& y, size_t to) {
  y.re[to] = x.re[from];
  if (!y.im.empty()) y.im[to] = x.im.empty() ? 0 : x.im[from];
}
/// The result whose element at each index is the element of x at from(index).
template <class F>
Naive moved_elements(const Naive& x, const Type& type, F from) {
  Naive y(type);
  size_t at = 0;
  each_index(type.dims,
             [&](const Shape& i) { copy_element(x, position(x.type.dims, from(i)), y, at++); });
  return y;
}
inline bool lists(const std::vector<int64_t>& list, int64_t v) {
  for (const int64_t w : list) {
    if (v == w) return true;
  }
  return false;
}
/// Returns the integer that is left of v in this dtype after overflow.
long double wrapped(__int128 v, DType dtype);

}  // namespace axle::testing
