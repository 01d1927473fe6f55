// What a traced dot_general does, for transforms that replace it.
#pragma once

#include "ops/products/dot.h"

namespace axle {

struct DotParts {
  const DotDims& dims;
  const DotOptions& options;
};
/// Returns the dims and options of a dot_general; none for every other op.
std::optional<DotParts> dot_parts_of(const OpNode& op);

}  // namespace axle
