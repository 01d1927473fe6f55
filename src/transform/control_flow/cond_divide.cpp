#include "transform/control_flow/cond_divide.h"

#include "base/lists.h"
#include "transform/control_flow/cond_op.h"
#include "transform/control_flow/cond_slots.h"
#include "transform/marks.h"
#include "transform/remat/divide.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Kept values of several branches share a slot if they have the same type and place.
struct Slot {
  Type type;
  Residual kept_as;
  bool operator==(const Slot&) const = default;
};

struct Branch {
  Halves halves;
  std::vector<size_t> slot_of;  // for each saved value
};

// Returns the slots that the saved values of a branch take. Adds slots if there are too few.
std::vector<size_t> take_slots(const Halves& halves, std::vector<Slot>& slots) {
  std::vector<size_t> own;
  for (size_t i = 0; i < halves.saved.size(); ++i)
    own.push_back(take_slot(slots, Slot{halves.saved[i].type(), halves.saved_as[i]}, own));
  return own;
}

// Parameters: those marked in `needed`, then the slots. Results: those that are computed again.
std::shared_ptr<const Region> backward_branch(const Branch& branch, const std::vector<bool>& needed,
                                              const std::vector<Type>& types) {
  return trace(
      [&](const Values& parameters) {
        std::vector<size_t> position;
        size_t next = 0;
        for (const bool is_needed : needed) position.push_back(is_needed ? next++ : 0);
        Values in;
        for (const size_t i : branch.halves.needed) in.push_back(parameters[position[i]]);
        for (const size_t slot : branch.slot_of) in.push_back(parameters[next + slot]);
        return inline_region(*branch.halves.backward, in);
      },
      types);
}

}  // namespace

std::optional<Divided> divide_cond(const OpNode& op, const std::vector<bool>& used,
                                   const ResidualPolicy& policy) {
  std::vector<Slot> slots;
  std::vector<Branch> branches;
  std::vector<bool> needed(op.inputs.size() - 1, false);  // without the index
  for (const auto& region : op.regions) {
    Branch branch{.halves = divide_region(*region, used, policy)};
    branch.slot_of = take_slots(branch.halves, slots);
    for (const size_t i : branch.halves.needed) needed[i] = true;
    branches.push_back(std::move(branch));
  }
  if (slots.empty()) return std::nullopt;

  Divided out{.inputs = needed};
  out.inputs.insert(out.inputs.begin(), true);
  std::vector<Type> types;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) types.push_back(op.inputs[i + 1].type());
  }
  std::vector<Type> slot_types;
  for (const Slot& slot : slots) {
    slot_types.push_back(slot.type);
    types.push_back(slot.type);
    out.kept.push_back(slot.kept_as);
  }
  std::vector<std::shared_ptr<const Region>> forward, backward;
  for (const Branch& branch : branches) {
    forward.push_back(forward_branch(branch.halves, slot_types, branch.slot_of));
    backward.push_back(backward_branch(branch, needed, types));
  }
  out.forward = [forward](const Values& inputs) { return emit_cond(forward, inputs); };
  out.again = [backward, used](const Values& inputs, const Values& kept) {
    return spread_results(emit_cond(backward, concatenate<Tensor>({inputs, kept})), used);
  };
  return out;
}

}  // namespace axle
