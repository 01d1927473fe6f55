// The static arguments of the scan row, shared by its rule files.
#pragma once

#include <string>

#include "ir/op_rules.h"

namespace axle {

/// Inputs, and parameters of the body: consts, carries, xs. Results of the body: carries, ys.
struct ScanAttributes : Attributes {
  ScanAttributes(size_t c, size_t k, int64_t n, bool r)
      : num_consts(c), num_carries(k), length(n), reverse(r) {}
  size_t num_consts, num_carries;
  int64_t length;
  bool reverse;
  std::string text() const override {
    return "consts = " + std::to_string(num_consts) + ", carries = " + std::to_string(num_carries) +
           ", length = " + std::to_string(length) + (reverse ? ", reverse" : "");
  }
};

/// Emits a scan over a closed body.
Values emit_scan(std::shared_ptr<const Region> body, Values inputs,
                 const ScanAttributes& attributes);
/// The differentiation rule (scan_vjp.cpp).
Linearized linearize_scan(const OpNode& op, const Values& inputs, const std::vector<bool>& active);
/// The type of one slice along the leading dim, and back.
Type slice_type(Type type);
Type stacked_type(Type type, int64_t length);

}  // namespace axle
