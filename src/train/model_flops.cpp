#include "train/model_flops.h"

#include <fmt/format.h>

#include "transform/scan_attributes.h"

namespace axle {
namespace {

double matmul_flops(const Region& region) {
  double sum = 0;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == "dot_general") {
      sum += op->rules->row().cost.flops(*op);
    } else if (!op->regions.empty()) {
      const double times =
          op->rules->name() == "scan" ? static_cast<double>(op->attrs<ScanAttributes>().length) : 1;
      sum += times * matmul_flops(op->region());
    }
  }
  return sum;
}

}  // namespace

ModelFlops model_flops(const ProgramParts& parts) {
  try {
    return {.count = 3 * matmul_flops(*eval_program(parts).graph)};
  } catch (const std::exception& error) {
    return {.unknown = fmt::format("mfu stays 0: the model's operations are counted in its forward "
                                   "pass outside of training, which fails: {}",
                                   error.what())};
  }
}

}  // namespace axle
