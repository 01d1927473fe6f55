// Finding the uses of a value of an XLA program, through casts, tuples, fusions and elementwise
// ops.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "hlo/module.h"
#include "hlo/value_origins.h"

namespace axle {

/// Finds uses within one module. `module` and `values` must outlive this object.
class HloUses {
 public:
  HloUses(const HloModule& module, const HloValueOrigins& values);

  /// Returns how many elements of an instruction's result are used only by slices that differ
  /// between devices, each device taking its own part. For a tuple it is the sum over the elements.
  int64_t sliced_elements(size_t computation, size_t instruction);

 private:
  using Value = HloResult;
  struct Use {
    enum Kind { kWhole, kOwnSlice, kPart, kSame } kind;
    Value as = {};  // of kPart and kSame: the value that the used value becomes
  };
  const HloInstruction& at(const Value& v) const;
  int64_t num_elements(const Value& v) const;
  std::vector<Use> uses_of(const Value& v) const;
  void add_use(const Value& v, size_t user, std::vector<Use>& out) const;
  void add_result(const Value& root, std::vector<Use>& out) const;
  bool takes_own_slice(const Value& v, size_t user) const;
  int64_t sliced(const Value& v, int depth);

  const HloModule& module_;
  const HloValueOrigins& origins_;
  std::vector<std::vector<std::vector<size_t>>> users_;  // by computation and instruction
  std::map<Value, int64_t> known_;
};

}  // namespace axle
