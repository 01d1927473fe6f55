// Finding the origin of a value of an XLA program, through casts, slices, tuples, fusions and
// loops.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlo/module.h"

namespace axle {

/// The result of an instruction, or the element of its tuple at the indices `elements`, innermost
/// first.
struct HloResult {
  size_t computation, instruction;
  std::vector<int64_t> elements = {};
  auto operator<=>(const HloResult&) const = default;
};

/// Finds origins within one module, which must outlive this object.
class HloValueOrigins {
 public:
  explicit HloValueOrigins(const HloModule& module);

  /// Returns the number of the program's argument that an instruction's result comes from; none if
  /// the result is computed. The result may be a part, a cast, a gathered copy or another layout of
  /// the argument, joined from parts, or the argument written into zeros.
  std::optional<int64_t> argument(size_t computation, size_t instruction) const;
  /// Returns the op_name of the instruction or, if it has none or an element of its tuple is meant,
  /// that of the nearest instruction that the result comes from. Names that XLA made up, and those
  /// of a loop or barrier (is_loop_or_barrier), count only if there is no other name. Empty if
  /// there is no name at all.
  const std::string& op_name(const HloResult& result) const;
  /// An argument whose parts devices pass to each other by collective-permutes: its number and the
  /// elements of its shard on one device.
  struct PermutedArgument {
    int64_t argument = 0, elements = 0;
  };
  /// Returns the argument that a result is a part of, also through collective-permutes; none if the
  /// result is computed or was gathered.
  std::optional<PermutedArgument> permuted_argument(size_t computation, size_t instruction) const;
  /// Returns the number of elements that a device writes into zeros to make this result, which may
  /// be cast or scaled afterwards; 0 if the result is not made in this way.
  int64_t elements_set_into_zeros(size_t computation, size_t instruction) const;
  /// True if a result depends on which device computes it.
  bool depends_on_device(size_t computation, size_t instruction) const;
  /// Returns the computation and position of the only instruction that calls a computation; none if
  /// there are several or none.
  std::optional<std::pair<size_t, size_t>> caller(size_t computation) const;
  /// Returns the number of elements, on one device, of the argument that a result comes from; none
  /// if the result is computed or was gathered.
  std::optional<int64_t> argument_elements(size_t computation, size_t instruction) const;
  /// Returns how many elements of a result that holds parts of an argument come from the argument.
  /// The zeros that they were written into do not count.
  int64_t part_elements(size_t computation, size_t instruction) const;
  /// Returns the number of iterations of a while loop. It is either XLA's note on the loop, or
  /// derived from a counter whose start, step and limit are constants. None for other loops.
  std::optional<int64_t> trip_count(size_t computation, size_t instruction) const;

 private:
  using Value = HloResult;
  const HloInstruction& at(const Value& v) const;
  Value origin(Value v, bool through_unions = true) const;
  std::optional<Value> producer(const Value& v) const;
  std::optional<Value> from_last_iteration(const Value& v) const;
  struct NameSearch;
  const std::string* nearest_name(Value v, NameSearch& search) const;
  std::optional<Value> before_permute(const Value& v) const;
  bool is_zeros(const Value& v) const;
  std::optional<Value> step(const Value& v, bool through_unions) const;
  bool joins_parts_of_one(const Value& v) const;
  std::optional<Value> outside(const Value& parameter) const;
  bool unchanged_by_loop(const HloInstruction& loop, int64_t element) const;
  std::optional<int64_t> constant(const Value& v) const;
  bool is_loop_counter(const Value& v, size_t computation, int64_t element) const;

  const HloModule& module_;
  std::vector<std::optional<Value>> callers_;
};

/// True for instructions whose result is that of the one computation that they call.
bool runs_one_computation(std::string_view opcode);

/// True if an instruction runs the computations in `called`. False for async-update and async-done,
/// which only repeat the `called` of their async-start.
bool runs_called_computations(const HloInstruction& instruction);

}  // namespace axle
