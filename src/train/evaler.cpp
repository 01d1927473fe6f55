#include "train/evaler.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"

namespace axle {

EvalResult evaluate_input(Input& input, Executable& program, const Program& signature,
                          Runtime& runtime, const Arrays& parameters) {
  EvalResult result;
  Tree<double> sums;
  while (const auto batch = input.next()) {
    Arrays arguments = parameters;
    for (const auto& [name, value] : batch->tensors) {
      const PartitionSpec& sharding = signature.inputs[arguments.size()].sharding;
      arguments.push_back(runtime.make_array(value, sharding, signature.mesh));
    }
    const Arrays outputs = program.execute(arguments);
    // A batch counts by its targets: the last one of the data is mostly padding.
    for (size_t i = 0; i < outputs.size(); ++i) {
      sums[signature.outputs[i].name] +=
          outputs[i]->to_host().at(0) * static_cast<double>(batch->num_targets);
    }
    result.num_targets += batch->num_targets;
    result.num_bytes += batch->num_target_bytes;
  }
  if (result.num_targets == 0)
    throw DataError("evaluation: expected at least one target, got an input without any");
  for (const auto& [name, sum] : sums) {
    if (name != "num_targets") result.metrics[name] = sum / static_cast<double>(result.num_targets);
  }
  if (result.num_bytes > 0) {
    const auto it = result.metrics.find("cross_entropy");
    const double nats = it == result.metrics.end() ? result.metrics.at("loss") : it->second;
    result.metrics["bits_per_byte"] = nats * static_cast<double>(result.num_targets) /
                                      static_cast<double>(result.num_bytes) / std::log(2.0);
  }
  result.byte_entropy_bits = input.facts().byte_entropy_bits;
  return result;
}

AXLE_REGISTER(Evaler)

}  // namespace axle
