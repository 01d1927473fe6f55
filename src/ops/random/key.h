// The handle of random keys: words and their generator.
//
// Samplers take no plain tensors, so that neither a float nor a number used as a key compiles.
// Programs, loops, vmap and checkpoints have tensors only: code gives them data() and wraps what it
// gets back, since that code knows the generator. prng.h lists the generators.
#pragma once

#include <cstdint>
#include <utility>

#include "ir/tensor.h"
#include "ops/random/prng.h"

namespace axle::random {

/// One key, or an array of keys. A default-made Key is none: only operator bool may be called.
class Key {
 public:
  Key() = default;
  /// Makes keys of words u32[.., 2] for threefry, u32[.., 4] for the others. The default is that of
  /// key_words. Throws ShapeError for other dtypes and shapes.
  static Key wrap(const Tensor& words, PrngImpl impl = PrngImpl::kThreefry2x32);

  explicit operator bool() const { return static_cast<bool>(data_); }
  /// Returns the words: u32[.., 2] or u32[.., 4].
  const Tensor& data() const { return data_; }
  PrngImpl impl() const { return impl_; }
  /// Returns the dims of the array of keys: the dims of the words but the last. One key has none.
  Shape shape() const;

 private:
  Key(Tensor data, PrngImpl impl) : data_(std::move(data)), impl_(impl) {}
  Tensor data_;
  PrngImpl impl_ = PrngImpl::kThreefry2x32;
};

/// Returns the key of a seed as a constant: key_words of random.h, wrapped.
Key random_key(int64_t seed, PrngImpl impl = PrngImpl::kThreefry2x32);

}  // namespace axle::random
