#include "ops/random/threefry.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "ops/batching.h"
#include "ops/rules.h"
#include "ops/stablehlo.h"

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

}  // namespace axle
