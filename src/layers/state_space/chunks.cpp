#include "layers/state_space/chunks.h"

#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

Tensor in_chunks(const Tensor& x, int64_t chunk_size) {
  const int64_t missing = (chunk_size - x.dim(1) % chunk_size) % chunk_size;
  return unflatten(missing > 0 ? pad_in_dim(x, 1, 0, missing) : x, 1, {-1, chunk_size});
}

}  // namespace axle
