#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/random/threefry_keys.h"
#include "ops/rules.h"

namespace axle {
namespace {

constexpr std::array<std::array<int, 4>, 2> kRotations{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
constexpr uint32_t kParity = 0x1BD11BDA;
constexpr int kGroups = 5;  // groups of four rounds; key words are added after each group

std::vector<Type> infer_threefry(const OpNode& op) {
  const Type& counter = op.inputs[2].type();
  for (size_t i = 0; i < 4; ++i) {
    const Type& type = op.inputs[i].type();
    const bool scalar_key = i < 2 && type.rank() == 0;
    if (type.dtype != DType::kU32 || (!scalar_key && type.dims != counter.dims)) {
      shape_error(op, fmt::format("expected two key words and two counters, u32 of one shape (or "
                                  "scalar key words), got {}",
                                  to_text(types_of(op.inputs))));
    }
  }
  return {counter, counter};
}

void eval_threefry(const EvalOptions&, const OpNode&, std::span<const HostTensor* const> x,
                   std::span<HostTensor> y) {
  const auto word = [&](size_t operand, size_t i) {
    const auto values = x[operand]->values<uint32_t>();
    return values.size() == 1 ? values[0] : values[i];
  };
  const auto y0 = y[0].values<uint32_t>(), y1 = y[1].values<uint32_t>();
  for (size_t i = 0; i < y0.size(); ++i) {
    std::tie(y0[i], y1[i]) = threefry2x32(word(0, i), word(1, i), word(2, i), word(3, i));
  }
}

// Writes the body of the outlined function: about 110 elementwise ops.
HloValues write_rounds(HloBuilder& b, const HloValues& x) {
  const Type& type = x[2].type;
  const auto words = [&](const HloValue& key) {
    return key.type == type ? key : hlo_broadcast(b, key, type.dims, {});
  };
  const auto rotate = [&](const HloValue& v, int bits) {
    return hlo_map(b, "or",
                   {hlo_map(b, "shift_left", {v, b.splat(type, bits)}),
                    hlo_map(b, "shift_right_logical", {v, b.splat(type, 32 - bits)})});
  };
  const HloValue k0 = words(x[0]), k1 = words(x[1]);
  const std::array<HloValue, 3> key{
      k0, k1, hlo_map(b, "xor", {hlo_map(b, "xor", {k0, k1}), b.splat(type, kParity)})};
  HloValue y0 = hlo_map(b, "add", {x[2], key[0]});
  HloValue y1 = hlo_map(b, "add", {x[3], key[1]});
  for (size_t group = 0; group < kGroups; ++group) {
    for (const int bits : kRotations[group % 2]) {
      y0 = hlo_map(b, "add", {y0, y1});
      y1 = rotate(y1, bits);
      y1 = hlo_map(b, "xor", {y1, y0});
    }
    y0 = hlo_map(b, "add", {y0, key[(group + 1) % 3]});
    y1 = hlo_map(b, "add", {y1, key[(group + 2) % 3]});
    y1 = hlo_map(b, "add", {y1, b.splat(type, group + 1)});
  }
  return {y0, y1};
}

// Results of at most this many words may be keys and get a barrier, so that they are computed once.
// A compiler that fuses a chain of key splits recomputes each split for every use of its keys, and
// compilation then takes exponentially long.
constexpr int64_t kMaxKeys = 4096;

// Writes one function for each shape. All calls with this shape share it.
HloValues lower_threefry(const OpNode& op, HloBuilder& b, const HloValues& x) {
  std::string name = "threefry2x32";
  for (const int64_t d : op.outputs[0].dims) name += fmt::format("_{}", d);
  for (const HloValue& key : {x[0], x[1]}) name += key.type.rank() == 0 ? "" : "_k";
  const HloValues y = b.call(
      name, x, op.outputs, [&](const HloValues& arguments) { return write_rounds(b, arguments); });
  return op.outputs[0].num_elements() > kMaxKeys
             ? y
             : b.op("stablehlo.optimization_barrier", y, op.outputs);
}

const OpRules threefry_rules({.name = "threefry2x32",
                              .infer = infer_threefry,
                              .batch = elementwise,
                              .vjp = no_gradient,
                              .eval = eval_threefry,
                              .hlo = lower_threefry,
                              .cost = kNoFlops});

}  // namespace

std::pair<uint32_t, uint32_t> threefry2x32(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  const std::array<uint32_t, 3> key{k0, k1, k0 ^ k1 ^ kParity};
  x0 += key[0];
  x1 += key[1];
  for (uint32_t group = 0; group < kGroups; ++group) {
    for (const int bits : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, bits) ^ x0;
    }
    x0 += key[(group + 1) % 3];
    x1 += key[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

std::pair<Tensor, Tensor> threefry2x32(const Tensor& k0, const Tensor& k1, const Tensor& x0,
                                       const Tensor& x1) {
  const Values y = emit_all(threefry_rules, {k0, k1, x0, x1});
  return {y[0], y[1]};
}

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
  const auto axis = std::ssize(first.shape());
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
