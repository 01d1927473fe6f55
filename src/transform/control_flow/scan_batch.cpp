#include "transform/control_flow/scan_batch.h"

#include "ops/movement/shape.h"
#include "transform/batch_region.h"
#include "transform/control_flow/scan_op.h"

namespace axle {
namespace {

// Returns the marks of the operands, with every carry that some iteration batches: a fixpoint.
std::vector<bool> batched_through_loop(const OpNode& op, std::vector<bool> batched) {
  const auto& a = op.attrs<ScanAttributes>();
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> results = batched_results(op.region(), batched);
    for (size_t i = 0; i < a.num_carries; ++i) {
      if (!batched[a.num_consts + i] && results[i]) batched[a.num_consts + i] = changed = true;
    }
  }
  return batched;
}

}  // namespace

std::vector<Batched> batch_scan(BatchX x) {
  const auto& a = x.attrs<ScanAttributes>();
  const size_t num_fixed = a.num_consts + a.num_carries;  // operands before xs
  const std::vector<bool> batched = batched_through_loop(x.op(), batched_marks(x.values()));
  Values inputs = operands_of(x);
  for (size_t i = a.num_consts; i < inputs.size(); ++i) {
    if (i < num_fixed && batched[i])
      inputs[i] = with_batch_dims(x.values().subspan(i, 1), x.axis())[0];
    if (i >= num_fixed && batched[i]) inputs[i] = move_axis(inputs[i], 0, 1);
  }
  std::vector<bool> force(x.op().outputs.size(), false);
  for (size_t i = 0; i < a.num_carries; ++i) force[i] = batched[a.num_consts + i];
  const BatchedRegion body = batched_region(x.op().region(), batched, x.axis(), force);
  std::vector<Batched> out = with_marks(emit_scan(body.region, std::move(inputs), a), body.results);
  for (size_t i = a.num_carries; i < out.size(); ++i) {
    if (out[i].is_batched) out[i].value = move_axis(out[i].value, 1, 0);
  }
  return out;
}

}  // namespace axle
