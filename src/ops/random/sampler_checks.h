// Checks that the samplers share, so that an error names the sampler and not an op inside of it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ops/random/key.h"

namespace axle::random {

/// Throws ShapeError, naming `op`, for an array of keys and for a negative size.
void check_draw(std::string_view op, const Key& key, const Shape& shape);
/// Also for a dtype that is not floating-point.
void check_draw(std::string_view op, const Key& key, const Shape& shape, DType dtype);

/// A parameter of a sampler, with the name that errors give it.
struct SamplerParameter {
  std::string_view name;
  const Tensor& value;
};
/// check_draw for samplers with parameters. Throws ShapeError, naming `op`, also unless they have
/// one floating-point dtype and broadcast to `shape`.
void check_draw(std::string_view op, const Key& key, const Shape& shape,
                std::initializer_list<SamplerParameter> parameters);

}  // namespace axle::random
