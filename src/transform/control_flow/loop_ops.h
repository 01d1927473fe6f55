// The scan and the while op: what the files of their rules share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_rules.h"
#include "ir/tensor.h"

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

/// The linearize rule of scan: splits the joint graph of a scan into a forward and a backward scan.
Linearized linearize_scan(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

/// Emits a scan over a closed body.
Values emit_scan(std::shared_ptr<const Region> body, Values inputs,
                 const ScanAttributes& attributes);

/// Attributes of a while loop. Inputs of the op: consts of the condition, consts of the body,
/// carry. Regions: the condition and the body; each takes its consts, then the carry.
struct WhileAttributes : Attributes {
  WhileAttributes(size_t of_condition, size_t of_body)
      : num_condition_consts(of_condition), num_body_consts(of_body) {}
  size_t num_condition_consts, num_body_consts;
  size_t num_consts() const { return num_condition_consts + num_body_consts; }
  std::string text() const override {
    return "condition consts = " + std::to_string(num_condition_consts) +
           ", body consts = " + std::to_string(num_body_consts);
  }
};

/// What flows through a while loop with this number of carries.
BodyFlow flow_of_while(const WhileAttributes& attributes, size_t num_carries);

/// Forward mode of while. One loop computes the carry and the tangents of those parts of it that
/// depend on a moved input. The condition sees the carry alone.
///
/// Reverse mode would have to keep values of all iterations. Where an op around a while loop is
/// differentiated forwards, by transposing its pullback, the loop's pullback is an op without a
/// value, whose own pullback is the loop with tangents. Nothing computes it: it is dead once it is
/// transposed.
PushedForward push_forward_while(const OpNode& op, const Values& inputs, const Values& tangents);
/// The rule of while for reverse mode: gives a pullback for jvp, which only transposes it. Throws
/// ShapeError elsewhere.
Linearized linearize_while(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

/// Emits a while loop over closed regions.
Values emit_while(std::shared_ptr<const Region> condition, std::shared_ptr<const Region> body,
                  Values inputs, const WhileAttributes& attributes);

// Type checks of loop carries, scanned inputs, conditions and results of branches.

/// Throws ShapeError unless `next`, the carry that the body of a loop returns, has the types of
/// `init`. The error lists every tensor that differs, by its name or, where `names` is empty, its
/// number, with both types and where the new one comes from.
void check_carry(std::string_view op, const std::vector<std::string>& names, const Values& init,
                 const Values& next);

/// Throws ShapeError unless the results of branch number `branch` have the types of those of branch
/// 0.
void check_branch(std::string_view op, size_t branch, const Values& first, const Values& own);

/// Throws ShapeError unless `xs`, which a scan slices, has `length` slices.
void check_stacked(const Tensor& xs, int64_t length);

/// Throws ShapeError unless `results`, those of the condition of a loop, are one pred scalar.
void check_condition(std::string_view op, const Values& results);

}  // namespace axle
