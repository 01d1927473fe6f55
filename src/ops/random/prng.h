// Kinds of random keys.
//
// A key (key.h) carries its kind, and every sampler takes every kind. PrngScope sets the
// ThreefryMode of the code traced in it, as jax_threefry_partitionable does in JAX.
#pragma once

#include <cstdint>

#include "base/text/enum_text.h"
#include "ir/tensor.h"

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
/// Returns the kind of keys for code that has their words only and is not told it: that of words
/// u32[.., 2] is threefry, that of words u32[.., 4] is the option wide_keys. Throws ShapeError for
/// other words.
PrngImpl impl_of(const Tensor& words);

}  // namespace axle::random
