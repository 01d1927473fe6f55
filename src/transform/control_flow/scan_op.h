// The scan op: its attributes, which the files of its rules share, and its row.
#pragma once

#include <memory>
#include <string>

#include "ir/op_rules.h"

namespace axle {

/// Attributes of a scan. Inputs of the op and parameters of the body: consts, carries, xs. Results
/// of the body: carries, ys.
struct ScanAttributes : Attributes {
  ScanAttributes(size_t c, size_t k, int64_t n, bool r, int64_t u)
      : num_consts(c), num_carries(k), length(n), reverse(r), unroll(u) {}
  size_t num_consts, num_carries;
  int64_t length;
  bool reverse;
  int64_t unroll;               // copies of the body in the lowered loop
  bool may_keep_values = true;  // ScanOptions
  std::string text() const override {
    return "consts = " + std::to_string(num_consts) + ", carries = " + std::to_string(num_carries) +
           ", length = " + std::to_string(length) + (reverse ? ", reverse" : "") +
           (unroll == 1 ? "" : ", unroll = " + std::to_string(unroll));
  }
};

/// Returns the type without its leading dim.
inline Type slice_type(Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}
/// Returns the type with a leading dim of size `length`.
inline Type stacked_type(Type type, int64_t length) {
  type.dims.insert(type.dims.begin(), length);
  return type;
}

/// Emits a scan over a closed body.
Values emit_scan(std::shared_ptr<const Region> body, Values inputs,
                 const ScanAttributes& attributes);

}  // namespace axle
