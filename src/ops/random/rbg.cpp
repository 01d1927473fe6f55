#include "ops/random/rbg.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ops/batching.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/elementwise/bitwise.h"
#include "ops/movement/slice.h"
#include "ops/random/key_checks.h"
#include "ops/random/threefry_keys.h"
#include "ops/rules.h"

namespace axle {
namespace {

struct BitsAttributes : Attributes {
  explicit BitsAttributes(Type t) : type(std::move(t)) {}
  Type type;
  std::string text() const override { return "type = " + to_text(type); }
};

const Type& bits_type(const OpNode& op) { return op.attrs<BitsAttributes>().type; }

std::vector<Type> infer_bits(const OpNode& op) {
  if (op.inputs[0].type() != Type{DType::kU32, {4}}) {
    shape_error(op, fmt::format("expected the words of a key, u32[4], got {}",
                                to_text(op.inputs[0].type())));
  }
  const Type& type = bits_type(op);
  if (type.dtype != DType::kU32 && type.dtype != DType::kU64) {
    shape_error(op, fmt::format("expected dtype u32 or u64, got {}", name_of(type.dtype)));
  }
  return {type};
}

using Block = std::array<uint32_t, 4>;

// Returns the four random words of one counter.
Block philox4x32(Block x, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t p0 = x[0] * kMultiplier0, p1 = x[2] * kMultiplier1;
    x = {static_cast<uint32_t>(p1 >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

void eval_bits(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
               std::span<HostTensor> y) {
  const auto key = x[0]->values<uint32_t>();
  // The key is the upper half of the counter too.
  const uint64_t start = key[2] | uint64_t{key[3]} << 32, upper = key[0] | uint64_t{key[1]} << 32;
  // Two words of a u64 are stored low word first, which is how the platforms pair them.
  const size_t per_element = size_bytes(y[0].dtype()) / sizeof(uint32_t);
  const auto words = std::span(reinterpret_cast<uint32_t*>(y[0].bytes().data()),
                               static_cast<size_t>(y[0].size()) * per_element);
  for (uint64_t block = 0; 4 * block < words.size(); ++block) {
    const uint64_t low = start + block, high = upper + (low < start ? 1 : 0);
    const Block random =
        philox4x32({static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                    static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)},
                   {key[0], key[1]});
    for (size_t i = 0; i < 4 && 4 * block + i < words.size(); ++i) words[4 * block + i] = random[i];
  }
}

HloValues lower_bits(const OpNode& op, HloBuilder& b, const HloValues& x) {
  const Type state{DType::kU64, {2}};
  const HloValue pairs = b.one("stablehlo.reshape", x, Type{DType::kU32, {2, 2}});
  const HloValue key = b.one("stablehlo.bitcast_convert", {pairs}, state);
  return {b.op("stablehlo.rng_bit_generator", {key}, {state, op.outputs[0]},
               "rng_algorithm = #stablehlo<rng_algorithm DEFAULT>")[1]};
}

std::vector<Batched> batch_bits(BatchX x) {
  Type type = bits_type(x.op());
  type.dims = prepended(x.axis().size, type.dims);
  // No key is left to draw with if there are no examples.
  if (x.axis().size == 0) return all_batched({zeros(type.dims, type.dtype)});
  return all_batched({rng_bit_generator(index_in_dim(x[0], 0, 0), type.dims, type.dtype)});
}

const OpRules bits_rules({.name = "rng_bit_generator",
                          .infer = infer_bits,
                          .batch = batch_bits,
                          .vjp = no_gradient,
                          .eval = eval_bits,
                          .hlo = lower_bits,
                          .cost = kNoFlops});

}  // namespace

Tensor rng_bit_generator(const Tensor& key, const Shape& shape, DType dtype) {
  return emit(bits_rules, {key}, BitsAttributes(Type{dtype, shape}));
}

namespace random {
namespace {

// As in JAX, the unsafe ways use each tenth key that is drawn.
constexpr int64_t kDrawnPerKey = 10;

// Throws ShapeError, naming `op`, for a key of threefry.
bool is_unsafe(std::string_view op, const Key& key) {
  check_key(op, key, {PrngImpl::kRbg, PrngImpl::kUnsafeRbg});
  return key.impl() == PrngImpl::kUnsafeRbg;
}

// Returns the two halves of a key, each a key of threefry.
std::pair<Key, Key> halves(const Key& key) {
  const Values words = axle::split(key.data(), {2, 2}, 0);
  return {Key::wrap(words[0]), Key::wrap(words[1])};
}

// Joins keys of threefry to keys of the same kind as `like`.
Key joined_words(const Key& first, const Key& second, const Key& like) {
  const auto axis = static_cast<int64_t>(first.shape().size());
  return Key::wrap(concatenate({first.data(), second.data()}, axis), like.impl());
}

}  // namespace

Key rbg_split(const Key& key, int64_t n) {
  check_at_least("random::rbg_split", "a number of keys", n, 0, {key.data()});
  if (is_unsafe("random::rbg_split", key)) {
    const Tensor drawn = rng_bit_generator(key.data(), {kDrawnPerKey * n, 4});
    return Key::wrap(slice_in_dim(drawn, 0, 0, kDrawnPerKey * n, kDrawnPerKey), key.impl());
  }
  const auto [first, second] = halves(key);
  return joined_words(threefry_split(first, n), threefry_split(second, n), key);
}

Key rbg_fold_in(const Key& key, const Tensor& high, const Tensor& low) {
  check_words("random::rbg_fold_in", high, low);
  if (is_unsafe("random::rbg_fold_in", key)) {
    const Tensor drawn = rng_bit_generator(stack({high, low, high, low}), {kDrawnPerKey, 4});
    return Key::wrap(key.data() ^ index_in_dim(drawn, 0, -1), key.impl());
  }
  const auto [first, second] = halves(key);
  return joined_words(threefry_fold_in(first, high, low), threefry_fold_in(second, high, low), key);
}

Tensor rbg_bits(const Key& key, int width, const Shape& shape) {
  check_key("random::rbg_bits", key, {PrngImpl::kRbg, PrngImpl::kUnsafeRbg});
  check_bits("random::rbg_bits", key, width, shape);
  const Tensor drawn =
      rng_bit_generator(key.data(), shape, width == 64 ? DType::kU64 : DType::kU32);
  return width >= 32 ? drawn : drawn & full(shape, (1 << width) - 1, DType::kU32);
}

}  // namespace random
}  // namespace axle
