// Kinds of random keys.
//
// A key is plain u32 words, so that it can be an argument, the carry of a loop or a leaf of a
// checkpoint, and every sampler takes every kind. Its length says its generator: u32[2] is
// threefry, u32[4] is rbg. Two choices do not show in the words: how threefry counts, and how
// u32[4] keys are split. They hold for all code traced within a PrngScope, like a setting of JAX.
#pragma once

#include <cstdint>

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

struct PrngOptions {
  /// Used by threefry keys, and to split rbg keys.
  ThreefryMode threefry = ThreefryMode::kPartitionable;
  /// What u32[4] keys are: kRbg or kUnsafeRbg.
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
/// Returns the kind of a key. Throws ShapeError if it is neither u32[2] nor u32[4].
PrngImpl impl_of(const Tensor& key);

}  // namespace axle::random
