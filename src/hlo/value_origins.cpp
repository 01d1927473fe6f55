#include "hlo/value_origins.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "hlo/op_name.h"

namespace axle {
namespace {

// Operands come before their users and callees before callers, so a search ends by itself. A value
// may still go in and out of computations; the bound is for damaged programs.
constexpr int kMaxSteps = 100'000;

// True for ops whose result holds only values of the first operand.
bool moves_first_operand(std::string_view opcode) {
  static constexpr std::array kOpcodes = std::to_array<std::string_view>(
      {"all-gather", "all-gather-done", "all-gather-start", "async-done", "async-update", "bitcast",
       "convert", "copy", "copy-done", "copy-start", "dynamic-slice", "optimization-barrier",
       "reshape", "slice", "transpose"});
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

// True for an all-gather with several operands, whose result is a tuple with one element for each.
bool is_variadic_gather(const HloInstruction& instruction) {
  return (instruction.opcode == "all-gather" || instruction.opcode == "all-gather-start") &&
         instruction.operands.size() > 1;
}

constexpr int kMaxPermuteSteps = 10'000;

// True for ops that scale or cast each element of one operand.
bool is_elementwise(std::string_view opcode) {
  static constexpr std::array kOpcodes =
      std::to_array<std::string_view>({"divide", "multiply", "negate", "reduce-precision"});
  return std::ranges::find(kOpcodes, opcode) != kOpcodes.end();
}

// True if the name of an instruction says little about where its value comes from: XLA made it up
// from the opcode ("broadcast.142"), or it is a loop or barrier.
bool is_vague(const HloInstruction& instruction) {
  return instruction.op_name.starts_with(instruction.opcode + ".") ||
         std::ranges::all_of(op_locations(instruction.op_name), is_loop_or_barrier);
}

bool is_permute(std::string_view opcode) { return opcode.starts_with("collective-permute"); }

// Names are found after few steps. The bound ends the search through sums of sums of unnamed
// values, which could take exponential time.
constexpr int kMaxNameSteps = 2'000;

}  // namespace

bool runs_one_computation(std::string_view opcode) {
  return opcode == "fusion" || opcode == "call" || opcode == "async-start";
}

bool runs_called_computations(const HloInstruction& instruction) {
  return instruction.opcode != "async-update" && instruction.opcode != "async-done";
}

HloValueOrigins::HloValueOrigins(const HloModule& module)
    : module_(module), callers_(module.computations.size()) {
  std::vector<int> num_callers(module.computations.size());
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (!runs_called_computations(instructions[i])) continue;
      for (const size_t callee : instructions[i].called) {
        callers_[callee] = Value{c, i};
        ++num_callers[callee];
      }
    }
  }
  for (size_t c = 0; c < callers_.size(); ++c) {
    if (num_callers[c] > 1) callers_[c].reset();
  }
}

const HloInstruction& HloValueOrigins::at(const Value& v) const {
  return module_.computations[v.computation].instructions[v.instruction];
}

bool HloValueOrigins::unchanged_by_loop(const HloInstruction& loop, int64_t element) const {
  const size_t body = loop.called[0];
  const HloComputation& computation = module_.computations[body];
  const HloInstruction& root = computation.instructions[computation.root];
  if (root.opcode != "tuple" || element < 0 || element >= std::ssize(root.operands)) return false;
  Value v{body, root.operands[element]};
  while (at(v).opcode == "copy" && !at(v).operands.empty()) v.instruction = at(v).operands[0];
  const HloInstruction& back = at(v);
  return back.opcode == "get-tuple-element" && back.tuple_index == element &&
         !back.operands.empty() && computation.instructions[back.operands[0]].opcode == "parameter";
}

std::optional<HloValueOrigins::Value> HloValueOrigins::outside(const Value& parameter) const {
  const auto& caller = callers_[parameter.computation];
  if (!caller) return std::nullopt;
  const HloInstruction& call = at(*caller);
  size_t operand = 0;
  if (call.opcode == "while") {
    if (parameter.elements.empty() || !unchanged_by_loop(call, parameter.elements.back()))
      return std::nullopt;
  } else if (call.opcode == "conditional") {
    const auto branch = std::ranges::find(call.called, parameter.computation);
    operand = static_cast<size_t>(branch - call.called.begin()) + 1;
  } else if (runs_one_computation(call.opcode)) {
    operand = static_cast<size_t>(at(parameter).parameter_number);
  } else {
    return std::nullopt;
  }
  if (operand >= call.operands.size()) return std::nullopt;
  return Value{caller->computation, call.operands[operand], parameter.elements};
}

std::optional<HloValueOrigins::Value> HloValueOrigins::step(const Value& v,
                                                            bool through_unions) const {
  const HloInstruction& instruction = at(v);
  const std::string& opcode = instruction.opcode;
  if (opcode == "parameter") return outside(v);
  if (runs_one_computation(opcode) && !instruction.called.empty()) {
    const size_t callee = instruction.called[0];
    return Value{callee, module_.computations[callee].root, v.elements};
  }
  if (instruction.operands.empty()) return std::nullopt;
  Value next{v.computation, instruction.operands[0], v.elements};
  if (opcode == "get-tuple-element") {
    next.elements.push_back(instruction.tuple_index);
    return next;
  }
  if (opcode == "while") {
    if (v.elements.empty() || !unchanged_by_loop(instruction, v.elements.back()))
      return std::nullopt;
    return next;
  }
  if (opcode == "tuple" || is_variadic_gather(instruction)) {
    if (v.elements.empty()) return std::nullopt;
    const auto element = static_cast<size_t>(v.elements.back());
    if (element >= instruction.operands.size()) return std::nullopt;
    next.instruction = instruction.operands[element];
    next.elements.pop_back();
    return next;
  }
  if (opcode == "dynamic-update-slice" && instruction.operands.size() > 1) {
    // On TPU a gather may be an all-reduce of zeros into which each device has written its part.
    const bool into_zeros = through_unions && at(origin(next, false)).opcode == "broadcast";
    next.instruction = instruction.operands[1];
    return into_zeros ? std::optional(next) : std::nullopt;
  }
  if (moves_first_operand(opcode) || (through_unions && joins_parts_of_one(v))) return next;
  return std::nullopt;
}

// True if an instruction joins parts of one value. On TPU an argument may be copied in several
// parts, which a ConcatBitcast joins.
bool HloValueOrigins::joins_parts_of_one(const Value& v) const {
  const HloInstruction& instruction = at(v);
  if (instruction.opcode != "concatenate" && instruction.custom_call_target != "ConcatBitcast")
    return false;
  const auto from = [&](size_t operand) { return origin({v.computation, operand}, false); };
  const Value first = from(instruction.operands[0]);
  return std::ranges::all_of(instruction.operands,
                             [&](size_t operand) { return from(operand) == first; });
}

HloValueOrigins::Value HloValueOrigins::origin(Value v, bool through_unions) const {
  for (int i = 0; i < kMaxSteps; ++i) {
    auto next = step(v, through_unions);
    if (!next) break;
    v = std::move(*next);
  }
  return v;
}

std::optional<int64_t> HloValueOrigins::argument(size_t computation, size_t instruction) const {
  const Value v = origin({computation, instruction});
  if (v.computation != module_.entry || at(v).opcode != "parameter" || !v.elements.empty())
    return std::nullopt;
  return at(v).parameter_number;
}

std::optional<int64_t> HloValueOrigins::argument_elements(size_t computation,
                                                          size_t instruction) const {
  if (!argument(computation, instruction)) return std::nullopt;
  Value v{computation, instruction};
  for (int i = 0; i < kMaxSteps; ++i) {
    if (at(v).opcode.starts_with("all-gather")) return std::nullopt;
    auto next = step(v, true);
    if (!next) break;
    v = std::move(*next);
  }
  return at(v).shape.num_elements();
}

int64_t HloValueOrigins::part_elements(size_t computation, size_t instruction) const {
  Value v{computation, instruction};
  int64_t least = at(v).shape.num_elements();
  for (int i = 0; i < kMaxSteps; ++i) {
    auto next = step(v, true);
    if (!next) break;
    v = std::move(*next);
    const int64_t elements = at(v).shape.num_elements();
    if (elements > 0) least = std::min(least, elements);
  }
  return least;
}

std::optional<int64_t> HloValueOrigins::constant(const Value& v) const {
  return at(origin(v)).constant;
}

bool HloValueOrigins::is_loop_counter(const Value& v, size_t computation, int64_t element) const {
  const Value from = origin(v);
  return from.computation == computation && at(from).opcode == "parameter" &&
         from.elements == std::vector<int64_t>{element};
}

std::optional<int64_t> HloValueOrigins::trip_count(size_t computation, size_t instruction) const {
  const HloInstruction& loop = module_.computations[computation].instructions[instruction];
  if (loop.known_trip_count) return loop.known_trip_count;
  const size_t body = loop.called[0], condition = loop.called[1];

  const Value test = origin({condition, module_.computations[condition].root});
  const HloInstruction& compare = at(test);
  if (compare.opcode != "compare" || compare.operands.size() != 2) return std::nullopt;
  const bool last_included = compare.comparison == "LE";
  if (!last_included && compare.comparison != "LT") return std::nullopt;
  const Value counter = origin({test.computation, compare.operands[0]});
  if (counter.elements.size() != 1) return std::nullopt;
  const int64_t element = counter.elements[0];
  if (!is_loop_counter(counter, condition, element)) return std::nullopt;

  const auto limit = constant({test.computation, compare.operands[1]});
  const auto start = constant({computation, loop.operands[0], {element}});
  const Value sum = origin({body, module_.computations[body].root, {element}});
  if (!limit || !start || at(sum).opcode != "add" || at(sum).operands.size() != 2)
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Value from{sum.computation, at(sum).operands[i]},
        by{sum.computation, at(sum).operands[1 - i]};
    const auto growth = constant(by);
    if (!growth || *growth < 1 || !is_loop_counter(from, body, element)) continue;
    int64_t span = 0;
    if (__builtin_sub_overflow(*limit, *start, &span) ||
        __builtin_add_overflow(span, int64_t{last_included}, &span))
      return std::nullopt;
    return span <= 0 ? 0 : (span - 1) / *growth + 1;
  }
  return std::nullopt;
}

std::optional<std::pair<size_t, size_t>> HloValueOrigins::caller(size_t computation) const {
  const auto& value = callers_[computation];
  return value ? std::optional(std::pair(value->computation, value->instruction)) : std::nullopt;
}

bool HloValueOrigins::depends_on_device(size_t computation, size_t instruction) const {
  std::set<std::pair<size_t, size_t>> seen;
  std::vector<Value> open = {{computation, instruction}};
  while (!open.empty() && seen.size() < kMaxPermuteSteps) {
    const Value v = open.back();
    open.pop_back();
    if (!seen.emplace(v.computation, v.instruction).second) continue;
    const std::string& opcode = at(v).opcode;
    if (opcode == "partition-id" || opcode == "replica-id") return true;
    // The index of a dynamic-slice counts as well: it may look up a table by the device's number.
    auto next = opcode == "dynamic-slice" ? std::nullopt : step(v, false);
    if (next) {
      open.push_back(std::move(*next));
    } else if (opcode != "while" && opcode != "parameter") {
      for (const size_t operand : at(v).operands) open.push_back({v.computation, operand});
    }
  }
  return false;
}

// Goes one step back as step() does, but also through collective-permutes, and out of a loop that
// only passes the value on.
std::optional<HloValueOrigins::Value> HloValueOrigins::before_permute(const Value& v) const {
  const HloInstruction& instruction = at(v);
  if (is_permute(instruction.opcode) && !instruction.operands.empty())
    return Value{v.computation, instruction.operands[0]};
  if (auto next = step(v, true)) return next;
  if (instruction.opcode != "parameter" || v.elements.empty()) return std::nullopt;
  const auto& call = callers_[v.computation];
  if (!call || at(*call).opcode != "while" || at(*call).called[0] != v.computation)
    return std::nullopt;
  // The value that the loop body returns as this element for the next iteration.
  Value back{v.computation, module_.computations[v.computation].root, {v.elements.back()}};
  for (int i = 0; i < kMaxPermuteSteps && at(back).opcode != "parameter"; ++i) {
    auto next = is_permute(at(back).opcode) && !at(back).operands.empty()
                    ? std::optional(Value{back.computation, at(back).operands[0]})
                    : step(back, true);
    if (!next) return std::nullopt;
    back = std::move(*next);
  }
  if (back.computation != v.computation || back.elements != v.elements) return std::nullopt;
  return Value{call->computation, at(*call).operands[0], v.elements};
}

std::optional<HloValueOrigins::PermutedArgument> HloValueOrigins::permuted_argument(
    size_t computation, size_t instruction) const {
  Value v{computation, instruction};
  for (int i = 0; i < kMaxPermuteSteps; ++i) {
    if (at(v).opcode.starts_with("all-gather")) return std::nullopt;
    auto next = before_permute(v);
    if (!next) break;
    v = std::move(*next);
  }
  if (v.computation != module_.entry || at(v).opcode != "parameter" || !v.elements.empty())
    return std::nullopt;
  return PermutedArgument{at(v).parameter_number, at(v).shape.num_elements()};
}

bool HloValueOrigins::is_zeros(const Value& v) const {
  const std::string& opcode = at(origin(v, false)).opcode;
  return opcode == "broadcast" || opcode == "constant";
}

int64_t HloValueOrigins::elements_set_into_zeros(size_t computation, size_t instruction) const {
  Value v{computation, instruction};
  for (int i = 0; i < kMaxPermuteSteps; ++i) {
    const HloInstruction& now = at(v);
    const bool has_part = now.opcode == "dynamic-update-slice" && now.operands.size() > 1;
    if (has_part || (now.opcode == "pad" && !now.operands.empty())) {
      if (has_part && !is_zeros({v.computation, now.operands[0]})) return 0;
      const int64_t part = at({v.computation, now.operands[has_part ? 1 : 0]}).shape.num_elements();
      return part < now.shape.num_elements() ? part : 0;
    }
    auto next = step(v, false);
    if (!next && is_elementwise(now.opcode)) {
      const auto scaled = std::ranges::find_if(now.operands, [&](size_t operand) {
        return !is_zeros({v.computation, operand});
      });
      if (scaled != now.operands.end()) next = Value{v.computation, *scaled};
    }
    if (!next) return 0;
    v = std::move(*next);
  }
  return 0;
}

// Returns the value that makes `v`. It goes one step back as step() does, but also into the body of
// a loop and to the update of a dynamic-update-slice (a layer that is written into a stack).
std::optional<HloValueOrigins::Value> HloValueOrigins::producer(const Value& v) const {
  const HloInstruction& instruction = at(v);
  if (instruction.opcode == "while" && !v.elements.empty() &&
      !unchanged_by_loop(instruction, v.elements.back())) {
    const size_t body = instruction.called[0];
    return Value{body, module_.computations[body].root, v.elements};
  }
  if (instruction.opcode == "dynamic-update-slice" && instruction.operands.size() > 1)
    return Value{v.computation, instruction.operands[1], v.elements};
  return step(v, true);
}

// Returns what the iteration before made, for a value that enters an iteration of a loop.
std::optional<HloValueOrigins::Value> HloValueOrigins::from_last_iteration(const Value& v) const {
  if (at(v).opcode != "parameter" || v.elements.empty()) return std::nullopt;
  const auto& call = callers_[v.computation];
  if (!call || at(*call).opcode != "while" || at(*call).called[0] != v.computation)
    return std::nullopt;
  return Value{v.computation, module_.computations[v.computation].root, v.elements};
}

struct HloValueOrigins::NameSearch {
  int steps_left = kMaxNameSteps;
  const std::string* vague = nullptr;  // the first name that says little
  std::set<Value> carries = {};        // of loops, followed back once
};

const std::string* HloValueOrigins::nearest_name(Value v, NameSearch& search) const {
  while (search.steps_left-- > 0) {
    const std::string& name = at(v).op_name;
    if (!name.empty()) {
      if (!is_vague(at(v))) return &name;
      if (!search.vague) search.vague = &name;
    }
    auto next = producer(v);
    if (!next && search.carries.insert(v).second) next = from_last_iteration(v);
    if (!next) break;
    v = std::move(*next);
  }
  if (search.steps_left <= 0 || !v.elements.empty()) return nullptr;
  // The value is computed, for example a sum over the loop's iterations: an operand has the name.
  for (const size_t operand : at(v).operands) {
    const Value from{v.computation, operand};
    if (at(from).opcode == "constant") continue;
    if (const std::string* name = nearest_name(from, search)) return name;
  }
  return nullptr;
}

const std::string& HloValueOrigins::op_name(const HloResult& result) const {
  static const std::string kNone;
  NameSearch search;
  const std::string* own = nearest_name(result, search);
  return own ? *own : search.vague ? *search.vague : kNone;
}

}  // namespace axle
