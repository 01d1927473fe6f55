#include "transform/control_flow/cond_slots.h"

#include "base/lists.h"
#include "ops/create.h"
#include "transform/trace.h"

namespace axle {

std::shared_ptr<const Region> forward_branch(const Halves& halves, const std::vector<Type>& slots,
                                             const std::vector<size_t>& slot_of) {
  return trace(
      [&](const Values& parameters) {
        const Values computed = inline_region(*halves.forward, parameters);
        const size_t num_results = halves.joint.num_results;
        Values out = concatenate<Tensor>({std::span(computed).first(num_results)});
        for (const Type& type : slots) out.push_back(zeros(type.dims, type.dtype));
        for (size_t i = 0; i < slot_of.size(); ++i)
          out[num_results + slot_of[i]] = computed[num_results + i];
        return out;
      },
      types_of(halves.forward->parameters()));
}

}  // namespace axle
