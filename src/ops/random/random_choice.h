// Samplers of integers and of choices from keys (random.h).
#pragma once

#include <cstdint>

#include "ir/tensor.h"
#include "ops/random/key.h"

namespace axle::random {

/// Integers in [low, high), nearly uniform; exactly uniform if high - low is a power of two.
/// Returns `low` if the interval is empty. Throws ShapeError unless dtype is an integer dtype that
/// can represent all these integers.
Tensor randint(const Key& key, const Shape& shape, int64_t low, int64_t high,
               DType dtype = DType::kI32);
/// The same with bounds that broadcast to `shape` and give the dtype.
Tensor randint(const Key& key, const Shape& shape, const Tensor& low, const Tensor& high);
/// The integers 0 .. n-1 in random order, i32.
Tensor permutation(const Key& key, int64_t n);
/// The slices of x along `axis` in random order.
Tensor permutation(const Key& key, const Tensor& x, int64_t axis = 0);
/// x with the elements of each line along `axis` in a random order of their own.
Tensor independent_permutation(const Key& key, const Tensor& x, int64_t axis = 0);

enum class Replacement : uint8_t { kWith, kWithout };
/// Draws indices along `axis` with probabilities softmax(logits), i32. The result has the dims
/// `batch` of draws, then the dims of logits without `axis`. Throws ShapeError if more indices than
/// there are would be drawn without replacement.
Tensor categorical(const Key& key, const Tensor& logits, int64_t axis = -1, const Shape& batch = {},
                   Replacement replacement = Replacement::kWith);
/// Draws from the indices 0 .. n-1 with equal probabilities, i32. Throws ShapeError if there are
/// none to draw from, or if more than n are drawn without replacement.
Tensor choice(const Key& key, int64_t n, const Shape& shape,
              Replacement replacement = Replacement::kWith);
/// Draws from the indices 0 .. n-1 with the probabilities p[n], i32. p is a float tensor that sums
/// to 1.
Tensor choice(const Key& key, const Tensor& p, const Shape& shape,
              Replacement replacement = Replacement::kWith);

}  // namespace axle::random
