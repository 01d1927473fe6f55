#include "train/initial_state.h"

#include "ir/eval.h"
#include "ops/random.h"

namespace axle {

// Compiling the program of the initial draws takes longer than interpreting it, unless the model is
// large.
Arrays initial_state(const ProgramParts& parts, const std::vector<ProgramValue>& leaves,
                     int64_t seed, Runtime& runtime, const CompileOptions& options) {
  constexpr int64_t kLarge = 1'000'000'000;
  int64_t num_elements = 0;
  for (const ProgramValue& leaf : leaves) num_elements += leaf.type.num_elements();
  const Program init = init_program(parts);
  if (num_elements >= kLarge) {
    const ArrayPtr key = runtime.make_array(random::key(seed), {}, parts.mesh);
    return runtime.compile(init, options)->execute({&key, 1});
  }
  std::vector<HostTensor> values = evaluate(*init.graph, {random::key(seed)});
  Arrays out;
  for (size_t i = 0; i < values.size(); ++i) {
    const HostTensor value = std::move(values[i]);  // so that it is not there twice for long
    out.push_back(runtime.make_array(value, leaves[i].sharding, parts.mesh));
  }
  return out;
}

}  // namespace axle
