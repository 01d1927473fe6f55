#include "train/record/model_flops.h"

#include <fmt/format.h>

#include <map>

#include "nn/call_forms.h"
#include "transform/regions.h"

namespace axle {
namespace {

using FlopsByDType = std::map<DType, double>;

void add_products(const Region& region, double times, FlopsByDType& out) {
  for (const OpNode* op : region.ops()) {
    if (op->rules->row().is_product) {
      out[op->inputs[0].dtype()] += times * op->rules->row().cost.flops(*op);
    } else {
      const std::vector<double> runs = counted_runs(*op);
      for (size_t i = 0; i < runs.size(); ++i) add_products(op->region(i), times * runs[i], out);
    }
  }
}

}  // namespace

ModelFlops model_flops(const ProgramParts& parts) {
  try {
    FlopsByDType products;
    // A model has one number, whatever its masks hide and however its layers save memory.
    const CallForms plain(CallForms::Allowed::kPlain);
    ProgramParts alone = parts;  // on one device, where no stage is idle and no buffer is padded
    alone.mesh = {};
    alone.learner = nullptr;  // which would divide the batch
    add_products(*eval_program(alone).graph, 1, products);
    ModelFlops out;
    double most = 0;
    for (const auto& [dtype, flops] : products) {
      out.count += 3 * flops;
      if (flops > most) most = flops, out.dtype = dtype;
    }
    return out;
  } catch (const std::exception& error) {
    return {.unknown = fmt::format("mfu stays 0: the FLOPs of the model are not known, because its "
                                   "forward pass outside of training fails: {}",
                                   error.what())};
  }
}

}  // namespace axle
