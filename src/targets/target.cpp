#include "targets/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"

namespace axle {
namespace {

constexpr int64_t kMaxCount = 1'000'000;  // keeps products of three counts within 64 bits

[[noreturn]] void fail(std::string_view target, const std::string& message) {
  throw ConfigError(fmt::format("target '{}': {}", target, message));
}

std::optional<int64_t> count_of(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > kMaxCount) return std::nullopt;
  return value;
}

int64_t read_count(std::string_view target, std::string_view what, std::string_view text) {
  const auto count = count_of(text);
  if (count) return *count;
  const bool is_zero = text.find_first_not_of('0') == text.npos;
  const std::string range = !is_digits(text) ? ""
                            : is_zero        ? " of at least 1"
                                             : fmt::format(" of at most {}", kMaxCount);
  fail(target, fmt::format("expected {}{}, got '{}'", what, range, text));
}

std::vector<std::string> machine_prefixes() {
  std::vector<std::string> out;
  for (const auto& row : accelerators()) out.push_back(row.machine_prefix);
  return out;
}

/// Returns {nodes, devices per node}.
std::vector<int64_t> nodes_of(const Accelerator& row, int64_t devices, std::string_view target) {
  const int64_t per_host = row.devices_per_host;
  if (devices <= per_host) return {1, devices};
  if (devices % per_host != 0) {
    const int64_t below = devices / per_host * per_host;
    fail(target, fmt::format("expected 1 to {0} devices or a multiple of {0}, the devices of one "
                             "node, got {1}; nearest: {2} and {3}",
                             per_host, devices, below, below + per_host));
  }
  return {devices / per_host, per_host};
}

std::vector<int64_t> slice_of_cores(const Accelerator& row, int64_t cores,
                                    std::string_view target) {
  std::optional<std::vector<int64_t>> shape;
  if (cores % row.cores_per_device == 0) shape = slice_of(row, cores / row.cores_per_device);
  if (!shape) {
    fail(target, fmt::format("expected a slice that exists ({} {}), got {}", slice_sizes_text(row),
                             row.cores_per_device > 1 ? "cores" : "devices", cores));
  }
  return *shape;
}

/// Finds an accelerator by its machine_prefix, "tpu-v5litepod", or its kind and name, "tpu-v5e";
/// nullptr if there is none.
const Accelerator* accelerator_of_prefix(std::string_view prefix) {
  for (const auto& row : accelerators()) {
    const std::string name = fmt::format("{}-{}", row.kind(), row.name);
    if (lower_case(prefix) == lower_case(row.machine_prefix) || lower_case(prefix) == name)
      return &row;
  }
  return nullptr;
}

const Accelerator& row_of_machine(std::string_view prefix, std::string_view target) {
  if (const auto* row = accelerator_of_prefix(prefix)) return *row;
  const auto prefixes = machine_prefixes();
  std::string hint = suggest(prefix, prefixes);
  // The user may have given only the accelerator's name: "H100", "a100-8".
  if (const auto* row = find_accelerator(lower_case(prefix))) {
    const std::string_view counts = target.substr(prefix.size());
    hint =
        fmt::format("; did you mean '{}{}'?", row->machine_prefix, counts.empty() ? "-N" : counts);
  }
  fail(target, fmt::format("no such machine type '{}'{} (machine types: {}-N)", prefix, hint,
                           fmt::join(prefixes, "-N, ")));
}

/// Reads a machine type: "tpu-v5p-512", "tpu-v5litepod-256-4", "gpu-H100-8", "cpu-8".
Target read_machine(std::string_view text) {
  // Prefixes contain dashes too, so the counts are taken from the end.
  std::string_view prefix = text;
  std::vector<std::string_view> counts;
  while (counts.size() < 2) {
    const size_t dash = prefix.rfind('-');
    if (dash == prefix.npos || !is_digits(prefix.substr(dash + 1))) break;
    counts.insert(counts.begin(), prefix.substr(dash + 1));
    prefix = prefix.substr(0, dash);
  }
  const bool is_tpu = lower_case(text).starts_with("tpu-");
  if (counts.empty()) {
    if (accelerator_of_prefix(text))
      fail(text, fmt::format("expected a number of devices, as in '{}-8'", text));
    // In "gpu-H100-x" the last part was meant to be a number.
    const size_t dash = text.rfind('-');
    row_of_machine(dash == text.npos || dash == text.find('-') ? text : text.substr(0, dash), text);
    fail(text, fmt::format("expected a number of devices, got '{}'", text.substr(dash + 1)));
  }
  const Accelerator& row = row_of_machine(prefix, text);
  if (counts.size() == 2 && !is_tpu) {
    fail(text, fmt::format("expected one number (only TPUs come in slices), got '{}-{}'", counts[0],
                           counts[1]));
  }
  const int64_t count = read_count(text, "a number of devices", counts[0]);
  Target out{.accelerator = row, .shape = {count}};
  if (is_tpu) {
    out.shape = slice_of_cores(row, count, text);
    if (counts.size() == 2) out.num_slices = read_count(text, "a number of slices", counts[1]);
  } else if (row.platform != "cpu") {
    out.shape = nodes_of(row, count, text);
  }
  return out;
}

const Accelerator& row_of_name(std::string_view kind, std::string_view name,
                               std::string_view target) {
  std::vector<std::string> names;
  for (const auto& row : accelerators()) {
    if (row.kind() != kind) continue;
    if (row.name == lower_case(name)) return row;
    names.push_back(row.name);
  }
  if (names.empty()) {
    std::vector<std::string> kinds;
    for (const auto& row : accelerators()) {
      if (std::ranges::count(kinds, row.kind()) == 0) kinds.emplace_back(row.kind());
    }
    fail(target, fmt::format("no such kind of machine '{}'{} (kinds: {})", kind,
                             suggest(kind, kinds), fmt::join(kinds, ", ")));
  }
  const Accelerator* elsewhere = find_accelerator(lower_case(name));
  fail(target, fmt::format("no such accelerator '{}'{} (of kind {}: {})", name,
                           elsewhere ? fmt::format("; did you mean '{}:{}'?", elsewhere->kind(),
                                                   elsewhere->name)
                                     : suggest(name, names),
                           kind, fmt::join(names, ", ")));
}

std::vector<int64_t> read_shape(std::string_view text, std::string_view target) {
  std::vector<int64_t> out;
  const std::string lower = lower_case(text);
  for (const std::string_view dim : split(lower, 'x'))
    out.push_back(read_count(target, "counts joined by x (as in 2x4)", dim));
  return out;
}

/// Reads a target: "cpu:8", "tpu:v5e:16x16:4", "gpu:h100:32x8".
Target read_text(std::string_view text) {
  const auto parts = split(text, ':');
  const std::string kind = lower_case(parts[0]);
  if (kind == "cpu") {
    if (parts.size() != 2) fail(text, "expected cpu:N");
    return {.accelerator = *find_accelerator("cpu"),
            .shape = {read_count(text, "a number of virtual devices", parts[1])}};
  }
  const Accelerator& row = row_of_name(kind, parts[1], text);
  const bool is_tpu = kind == "tpu";
  if (parts.size() < 3 || parts.size() > (is_tpu ? 4u : 3u)) {
    fail(text, is_tpu ? fmt::format("expected tpu:{0}:SHAPE or tpu:{0}:SHAPE:SLICES", row.name)
                      : fmt::format("expected {}:{}:NODESxDEVICES", kind, row.name));
  }
  Target out{.accelerator = row, .shape = read_shape(parts[2], text)};
  if (is_tpu) {
    auto slice = known_slice(row, out.shape);
    if (!slice) {
      fail(text, fmt::format("expected a slice that exists ({}), got {}", slice_shapes_text(row),
                             parts[2]));
    }
    out.shape = std::move(*slice);
    if (parts.size() == 4) out.num_slices = read_count(text, "a number of slices", parts[3]);
  } else if (out.shape.size() != 2 || out.shape[1] > row.devices_per_host) {
    fail(text, fmt::format("expected NODESxDEVICES with at most {0} devices a node, as in 1x{0}, "
                           "got {1}",
                           row.devices_per_host, parts[2]));
  }
  return out;
}

}  // namespace

int64_t Target::num_devices() const {
  return saturating_product(num_slices, saturating_product(shape));
}

std::string Target::machine() const {
  const int64_t of_slice = num_devices() / num_slices * accelerator.cores_per_device;
  return fmt::format("{}-{}{}", accelerator.machine_prefix, of_slice,
                     num_slices > 1 ? fmt::format("-{}", num_slices) : "");
}

Target parse_target(std::string_view text) {
  return text.find(':') == text.npos ? read_machine(text) : read_text(text);
}

std::string to_text(const Target& target) {
  const Accelerator& row = target.accelerator;
  if (row.name == "cpu") return fmt::format("cpu:{}", shape_text(target.shape));
  return fmt::format("{}:{}:{}{}", row.kind(), row.name, shape_text(target.shape),
                     target.num_slices > 1 ? fmt::format(":{}", target.num_slices) : "");
}

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
