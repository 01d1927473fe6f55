#include "ops/random/sampler_checks.h"

#include <fmt/format.h>

#include "ir/op_rules.h"
#include "ops/checks.h"
#include "ops/random/key_checks.h"

namespace axle::random {
namespace {

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const size_t offset = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[offset + i]) return false;
  }
  return true;
}

}  // namespace

void check_draw(std::string_view op, const Key& key, const Shape& shape) {
  check_key(op, key, {PrngImpl::kThreefry2x32, PrngImpl::kRbg, PrngImpl::kUnsafeRbg});
  check_sizes(op, "sizes", shape, {key.data()});
}

void check_draw(std::string_view op, const Key& key, const Shape& shape, DType dtype) {
  check_draw(op, key, shape);
  if (!is_float(dtype)) {
    shape_error(op, fmt::format("expected a floating-point dtype, got {}", name_of(dtype)),
                {key.data()});
  }
}

void check_draw(std::string_view op, const Key& key, const Shape& shape,
                std::initializer_list<SamplerParameter> parameters) {
  check_draw(op, key, shape);
  Values operands;
  for (const SamplerParameter& p : parameters) operands.push_back(p.value);
  const SamplerParameter& first = *parameters.begin();
  for (const auto& [name, value] : parameters) {
    const std::string got = to_text(value.type());
    if (!is_float(value.dtype()))
      shape_error(op, fmt::format("expected a floating-point {}, got {}", name, got), operands);
    if (value.dtype() != first.value.dtype()) {
      shape_error(op,
                  fmt::format("expected {} in the dtype of {}, {}, got {}; convert one with astype",
                              name, first.name, name_of(first.value.dtype()), got),
                  operands);
    }
    if (!broadcasts_to(value.shape(), shape)) {
      shape_error(op,
                  fmt::format("expected {} to broadcast to {}, got {}", name, to_text(shape), got),
                  operands);
    }
  }
}

}  // namespace axle::random
