#include "transform/control_flow/scan.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "ops/create.h"
#include "transform/control_flow/scan_op.h"
#include "transform/control_flow/type_checks.h"
#include "transform/trace.h"

namespace axle {

ScanResult scan(const ScanBody& body, const Values& init, const Values& xs, int64_t length,
                const ScanOptions& options) {
  if (options.unroll < 1) {
    shape_error("scan",
                fmt::format("expected to unroll at least 1 iteration, got {}", options.unroll));
  }
  check_at_least("scan", "a length", length, 0, concatenate<Tensor>({init, xs}));
  std::vector<Type> types;
  for (const Tensor& t : init) types.push_back(t.type());
  for (const Tensor& t : xs) {
    check_stacked(t, length);
    types.push_back(slice_type(t.type()));
  }
  size_t num_ys = 0;
  const ClosedRegion closed = trace_closed(
      [&](const Values& p) {
        const std::span parameters(p);
        ScanResult r = body(concatenate<Tensor>({parameters.first(init.size())}),
                            concatenate<Tensor>({parameters.subspan(init.size())}));
        check_carry("scan", options.names, init, r.carry);
        num_ys = r.ys.size();
        return concatenate<Tensor>({r.carry, r.ys});
      },
      types);
  ScanAttributes attributes(closed.captures.size(), init.size(), length, options.reverse,
                            options.unroll);
  attributes.may_keep_values = options.may_keep_values;
  const Values all =
      emit_scan(closed.region, concatenate<Tensor>({closed.captures, init, xs}), attributes);
  const std::span results(all);
  return {.carry = concatenate<Tensor>({results.first(init.size())}),
          .ys = concatenate<Tensor>({results.last(num_ys)})};
}

}  // namespace axle
