// Keys of random numbers, and the role of the generators that they belong to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "ir/tensor.h"

// Kinds of random keys.
//
// A key (key.h) carries its kind, and every sampler takes every kind. PrngScope sets the
// ThreefryMode of the code traced in it, as jax_threefry_partitionable does in JAX.

namespace axle::random {

enum class PrngImpl : uint8_t {
  /// Keys u32[2]. The same numbers on every backend, mesh and sharding, and under vmap.
  kThreefry2x32,
  /// Keys u32[4]. Bits come from the generator of the platform: faster on accelerators, but the
  /// numbers depend on it (CPU and GPU agree), every device computes all of them, and under vmap
  /// the first key of the batch draws for all examples. Keys are split by threefry.
  kRbg,
  /// Like kRbg, but keys are split by that generator too, which is not known to be safe.
  kUnsafeRbg,
};

enum class ThreefryMode : uint8_t {
  /// Each number depends on its own position only, so that a shard needs no data of others. JAX's
  /// default since version 0.5.
  kPartitionable,
  /// The numbers of JAX with jax_threefry_partitionable off.
  kOriginal,
};

constexpr auto texts_of(PrngImpl) {
  return std::to_array<EnumText<PrngImpl>>({{PrngImpl::kThreefry2x32, "threefry2x32"},
                                            {PrngImpl::kRbg, "rbg"},
                                            {PrngImpl::kUnsafeRbg, "unsafe_rbg"}});
}

struct PrngOptions {
  /// Used by threefry keys, and to split rbg keys.
  ThreefryMode threefry = ThreefryMode::kPartitionable;
  /// What impl_of returns for u32[4] words: kRbg or kUnsafeRbg.
  PrngImpl wide_keys = PrngImpl::kRbg;
};

/// Sets the options of this thread for its lifetime. The innermost scope counts.
class PrngScope {
 public:
  explicit PrngScope(PrngOptions options);
  ~PrngScope();
  PrngScope(const PrngScope&) = delete;
  PrngScope& operator=(const PrngScope&) = delete;

 private:
  PrngOptions outer_;
};

/// Returns the options of the innermost PrngScope.
const PrngOptions& prng_options();
/// Returns the kind of keys for code that has only their words: for words
/// u32[.., 2] it is threefry, for words u32[.., 4] the option wide_keys. Throws ShapeError for
/// other words.
PrngImpl impl_of(const Tensor& words);

// The handle of random keys: words and their generator.
//
// Samplers take no plain tensors, so that neither a float nor a number used as a key compiles.
// Programs, loops, vmap and checkpoints have tensors only: code passes them data() and wraps what
// it gets back, since that code knows the generator.

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

/// Throws ShapeError, naming `op`, for an array of keys, and for a key that is none of these kinds.
void check_key(std::string_view op, const Key& key, std::initializer_list<PrngImpl> kinds);
/// Throws ShapeError, naming `op`, unless `width` is 8, 16, 32 or 64 and no size is negative.
void check_bits(std::string_view op, const Key& key, int width, const Shape& shape);
/// Throws ShapeError, naming `op`, unless both words of a number are u32 scalars.
void check_words(std::string_view op, const Tensor& high, const Tensor& low);

}  // namespace axle::random
