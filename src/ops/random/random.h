// Random numbers: keys, bits, and what is drawn from them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"

// Kinds of random keys.
//
// A key carries its kind, and every sampler takes every kind. PrngScope sets the
// ThreefryMode of the code traced in it, as jax_threefry_partitionable does in JAX.

namespace axle::random {

// Keys of random numbers, and the role of the generators that they belong to.

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

// Floating-point samplers from keys.

/// Throws ShapeError, naming `op`, for an array of keys and for a negative size.
void check_draw(std::string_view op, const Key& key, const Shape& shape);
/// Also for a dtype that is not floating-point.
void check_draw(std::string_view op, const Key& key, const Shape& shape, DType dtype);

/// A parameter of a sampler, with its name in errors.
struct SamplerParameter {
  std::string_view name;
  const Tensor& value;
};
/// check_draw for samplers with parameters. Throws ShapeError, naming `op`, also unless they have
/// one floating-point dtype and broadcast to `shape`.
void check_draw(std::string_view op, const Key& key, const Shape& shape,
                std::initializer_list<SamplerParameter> parameters);

/// Floats in [low, high). bf16 has 128 different values (8 random bits), as in JAX. Throws
/// ShapeError if low > high; if both are equal, all numbers are `low`.
///
/// Numbers in [0, 1) are JAX's to the last bit everywhere. For other bounds XLA contracts
/// u * (high - low) + low to one operation, as in JAX. The interpreter rounds the product too,
/// which moves a number by at most one unit in the last place of high - low.
Tensor uniform(const Key& key, const Shape& shape, DType dtype = DType::kF32, double low = 0,
               double high = 1);
/// Uniform floats in [low, high), where `low` and `high` broadcast to `shape` and set the dtype.
Tensor uniform(const Key& key, const Shape& shape, const Tensor& low, const Tensor& high);
/// Normal distribution with mean 0 and standard deviation 1. Complex numbers have independent parts
/// of variance 1/2.
Tensor normal(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Standard normal distribution, truncated to the open interval (low, high). Throws ShapeError if
/// the interval has no number of the dtype.
///
/// Computed from uniform numbers between erf(low / sqrt(2)) and erf(high / sqrt(2)), as in JAX. On
/// XLA's CPU the numbers are JAX's to the last bit. On the interpreter a difference of the uniform
/// number grows by up to sqrt(pi) / sqrt(2) * exp(x^2 / 2) at x. In f32 with low = -2 and high = 2
/// this makes up to 8 units in the last place of 1 (measured: 6 in 10 keys of 1000 numbers).
Tensor truncated_normal(const Key& key, const Shape& shape, double low, double high,
                        DType dtype = DType::kF32);
/// True with probability p.
Tensor bernoulli(const Key& key, const Shape& shape, double p = 0.5);
/// True with the probabilities p (a float tensor that broadcasts to `shape`).
Tensor bernoulli(const Key& key, const Shape& shape, const Tensor& p);
/// 1 or -1 with equal probabilities.
Tensor rademacher(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-x) for x >= 0.
Tensor exponential(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-(x + exp(-x))).
Tensor gumbel(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-|x|) / 2.
Tensor laplace(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Density exp(-x) / (1 + exp(-x))^2.
Tensor logistic(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// Density 1 / (pi (1 + x^2)).
Tensor cauchy(const Key& key, const Shape& shape, DType dtype = DType::kF32);

}  // namespace axle::random

namespace axle {

// Threefry-2x32 with 20 rounds: the counter-based generator of all random numbers.
//
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.2.

/// Returns the two random words of the counter (x0, x1) under the key (k0, k1).
std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1);
/// Elementwise threefry2x32 of u32 tensors. The counters x0 and x1 have one shape; the key words
/// are scalars or have this shape too. Throws ShapeError for other shapes and dtypes.
std::pair<Tensor, Tensor> threefry2x32(const Tensor& k0, const Tensor& k1, const Tensor& x0,
                                       const Tensor& x1);

// Keys u32[4] of rbg, the generator of the platform: what the samplers do with them. The
// functions of keys throw ShapeError for keys of threefry.

/// Random bits from the platform's generator, in a dtype u32 or u64. CPU and GPU use Philox-4x32
/// with 10 rounds: the first two words are its key and the upper half of its first 128-bit counter,
/// the other two are the lower half.
/// Under vmap over keys, the first key draws for all examples, as in JAX.
///
/// Throws ShapeError unless the key is u32[4].
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
Tensor rng_bit_generator(const Tensor& key, const Shape& shape, DType dtype = DType::kU32);

namespace random {

/// Returns an array of n keys.
Key rbg_split(const Key& key, int64_t n);
/// Hashes a number of two words, which are u32 scalars.
Key rbg_fold_in(const Key& key, const Tensor& high, const Tensor& low);
/// Returns random bits as random::bits does.
Tensor rbg_bits(const Key& key, int width, const Shape& shape);

}  // namespace random
}  // namespace axle

namespace axle::random {

// Random numbers from keys. The same key yields the same numbers on every backend, mesh and
// sharding if it is a key of threefry, the default; PrngImpl says what other keys yield.
//
// A key is a handle: words and their generator. Never draw twice from one key: split it, or
// fold in a number. Functions throw ShapeError for an array of keys: vmap draws with each. Keys,
// bits, uniform, bernoulli, randint and permutation agree bit by bit with JAX. Functions that use
// logarithms or the error function agree within 4 ulp.

/// Integers in [low, high), nearly uniform; exactly uniform if high - low is a power of two.
/// Returns `low` if the interval is empty. Throws ShapeError unless dtype is an integer dtype that
/// can represent all these integers.
Tensor randint(const Key& key, const Shape& shape, int64_t low, int64_t high,
               DType dtype = DType::kI32);
/// The same with bounds that broadcast to `shape` and set the dtype.
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

// Samplers made from uniform, normal and exponential numbers, in closed form. Those that reject
// draws are in transform/random/samplers.h.
//
// Parameters are float tensors that broadcast to `shape`; they set the dtype and have gradients.

/// Density b x^(-b - 1) for x >= 1.
Tensor pareto(const Key& key, const Shape& shape, const Tensor& b);
/// exp of a normal number with mean 0 and standard deviation sigma.
Tensor lognormal(const Key& key, const Shape& shape, const Tensor& sigma);
/// Density (x / scale^2) exp(-x^2 / (2 scale^2)) for x >= 0.
Tensor rayleigh(const Key& key, const Shape& shape, const Tensor& scale);
/// Inverse Gaussian distribution with this mean and shape parameter 1.
Tensor wald(const Key& key, const Shape& shape, const Tensor& mean);
/// scale e^(1 / concentration) with e exponential: the smallest of many waiting times.
Tensor weibull_min(const Key& key, const Shape& shape, const Tensor& scale,
                   const Tensor& concentration);
/// Density that rises linearly from `left` to `mode` and falls linearly to `right`.
Tensor triangular(const Key& key, const Shape& shape, const Tensor& left, const Tensor& mode,
                  const Tensor& right);
/// Number of trials until the first success, 1 or more, if each succeeds with probability p.
Tensor geometric(const Key& key, const Shape& shape, const Tensor& p, DType dtype = DType::kI32);
/// Length of a vector of three standard normal numbers.
Tensor maxwell(const Key& key, const Shape& shape, DType dtype = DType::kF32);
/// loc + scale m with m from the Maxwell distribution, with a random sign.
Tensor double_sided_maxwell(const Key& key, const Shape& shape, const Tensor& loc,
                            const Tensor& scale);
/// mean + factor z with z standard normal: the covariance is factor factor^T, so that its Cholesky
/// factor is one choice.
///
/// Shapes: mean[.., n], factor[.., n, n] -> y[batch.., n]; the leading dims broadcast to `batch`.
Tensor multivariate_normal(const Key& key, const Shape& batch, const Tensor& mean,
                           const Tensor& factor);

/// Returns the words of a seed's key, as an argument of a program: 0 and the lower 32 bits of the
/// seed, u32[2]; twice these words for the kinds whose keys are u32[4]. JAX does the same unless
/// x64 is on. So seeds that differ by a multiple of 2^32 are one seed. random_key returns a key for
/// traced code.
HostTensor key_words(int64_t seed, PrngImpl impl = PrngImpl::kThreefry2x32);
/// Returns n independent keys of the same kind, an array of shape [n]. Do not use `key` afterwards.
Key split(const Key& key, int64_t n = 2);
/// Returns the keys of split(key, n) one by one.
std::vector<Key> split_each(const Key& key, int64_t n = 2);
/// Returns one of 2^32 child keys, chosen by `number`.
Key fold_in(const Key& key, uint32_t number);
/// fold_in with a computed integer scalar. All bits of a 64-bit number count.
Key fold_in(const Key& key, const Tensor& number);

/// Returns `width` (8, 16, 32 or 64) random bits in each element: u64 for 64, else u32.
Tensor bits(const Key& key, int width, const Shape& shape);
/// Returns elements of an unsigned dtype, u8 to u64, all of whose bits are random.
Tensor bits(const Key& key, const Shape& shape, DType dtype);

}  // namespace axle::random
