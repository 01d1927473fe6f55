// Parts of large tensors of random elements, drawn without the rest.
#pragma once

#include "ir/tensor.h"
#include "ops/random/random.h"

namespace axle::random {

/// `sizes` elements along each dim of a tensor of the shape `whole`, from `begin` on: an i32 scalar
/// for each dim, or none for the whole tensor. Indices outside the tensor get bits of any element.
struct Part {
  Shape whole;
  Values begin;
  Shape sizes;
};

/// True if the generator of the key computes each element from its index alone: threefry, but not
/// in its original mode.
inline bool draws_parts(const Key& key) {
  return key.impl() == PrngImpl::kThreefry2x32 &&
         prng_options().threefry == ThreefryMode::kPartitionable;
}

/// The part of bernoulli(key, part.whole, p). Throws ShapeError unless draws_parts(key).
Tensor bernoulli(const Key& key, const Part& part, double p);

}  // namespace axle::random
