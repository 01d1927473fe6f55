#include "targets/slice_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/checked.h"

namespace axle {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kCube = 4;  // larger slices are wired from blocks of 4x4x4
constexpr int64_t kDevicesOfCube = kCube * kCube * kCube;

Shape sorted(Shape shape) {
  std::ranges::sort(shape);
  return shape;
}

}  // namespace

std::optional<Shape> slice_of(const Accelerator& accelerator, int64_t devices) {
  for (const Shape& shape : accelerator.slice_shapes) {
    if (saturating_product(shape) == devices) return shape;
  }
  if (devices > accelerator.max_torus_devices || devices % kDevicesOfCube != 0) return std::nullopt;
  const int64_t cubes = devices / kDevicesOfCube;
  std::optional<Shape> best;
  for (int64_t a = 1; a * a * a <= cubes; ++a) {
    for (int64_t b = a; cubes % a == 0 && a * b * b <= cubes; ++b) {
      if (cubes % (a * b) != 0) continue;
      const Shape shape = {kCube * a, kCube * b, kCube * (cubes / (a * b))};
      const auto sum = [](const Shape& s) { return s[0] + s[1] + s[2]; };
      if (!best || sum(shape) < sum(*best)) best = shape;
    }
  }
  return best;
}

std::optional<Shape> known_slice(const Accelerator& accelerator, Shape shape) {
  shape = sorted(std::move(shape));
  for (const Shape& known : accelerator.slice_shapes) {
    if (sorted(known) == shape) return known;
  }
  const bool of_cubes = shape.size() == 3 && std::ranges::all_of(shape, [](int64_t dim) {
                          return dim > 0 && dim % kCube == 0;
                        });
  if (!of_cubes || saturating_product(shape) > accelerator.max_torus_devices) return std::nullopt;
  return shape;
}

std::string slice_shapes_text(const Accelerator& accelerator) {
  std::vector<std::string> shapes;
  for (const Shape& shape : accelerator.slice_shapes) shapes.push_back(shape_text(shape));
  std::string out = fmt::format("{}", fmt::join(shapes, ", "));
  if (accelerator.max_torus_devices > 0) {
    out += fmt::format(" or three multiples of {} with a product of at most {}", kCube,
                       accelerator.max_torus_devices);
  }
  return out;
}

std::string slice_sizes_text(const Accelerator& accelerator) {
  const int64_t cores = accelerator.cores_per_device;
  std::vector<int64_t> sizes;
  for (const Shape& shape : accelerator.slice_shapes)
    sizes.push_back(cores * saturating_product(shape));
  std::string out = fmt::format("{}", fmt::join(sizes, ", "));
  if (accelerator.max_torus_devices > 0) {
    out += fmt::format(" or a multiple of {} up to {}", cores * kDevicesOfCube,
                       cores * accelerator.max_torus_devices);
  }
  return out;
}

std::string shape_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace axle
