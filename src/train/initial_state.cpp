#include "train/initial_state.h"

#include "ir/eval.h"
#include "ops/random.h"

namespace axle {

// Compiling the program of the initial draws takes longer than interpreting it, unless the model is
// large.
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, const std::optional<Tree<HostTensor>>& parameters,
                     Runtime& runtime, const CompileOptions& options) {
  constexpr int64_t kLarge = 1'000'000'000;
  int64_t num_elements = 0;
  for (const ProgramValue& leaf : leaves) num_elements += leaf.type.num_elements();
  const Program init =
      init_program(parts, parameters ? InitialParameters::kGiven : InitialParameters::kDrawn);
  std::vector<HostTensor> arguments = {random::key(seed)};
  for (size_t i = 1; i < init.inputs.size(); ++i)
    arguments.push_back(parameters->at(init.inputs[i].name));
  if (num_elements >= kLarge) {
    Arrays given;
    for (size_t i = 0; i < arguments.size(); ++i)
      given.push_back(runtime.make_array(arguments[i], init.inputs[i].sharding, parts.mesh));
    return runtime.compile(init, options)->execute(given);
  }
  std::vector<HostTensor> values = evaluate(*init.graph, arguments);
  Arrays out;
  for (size_t i = 0; i < values.size(); ++i) {
    const HostTensor value = std::move(values[i]);  // so that it is not there twice for long
    out.push_back(runtime.make_array(value, leaves[i].sharding, parts.mesh));
  }
  return out;
}

}  // namespace axle
