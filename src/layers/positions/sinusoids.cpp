#include "layers/positions/sinusoids.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

Tensor sinusoids(const Tensor& positions, const Frequencies& frequencies, PairLayout layout) {
  const Tensor angles = angles_of(positions, frequencies);
  const Values pair{sin(angles), cos(angles)};
  if (layout == PairLayout::kHalves) return concatenate(pair, -1);
  return flatten(stack(pair, -1), -2);
}

}  // namespace axle
