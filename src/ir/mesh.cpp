#include "ir/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace axle {

int64_t Mesh::num_devices() const {
  int64_t n = 1;
  for (const auto& axis : axes) n *= axis.size;
  return n;
}

int64_t Mesh::size(std::string_view axis) const {
  for (const auto& a : axes) {
    if (a.name == axis) return a.size;
  }
  return 1;
}

bool Mesh::has(std::string_view axis) const {
  return std::ranges::find(axes, axis, &MeshAxis::name) != axes.end();
}

namespace {

std::string to_text(const MeshAxis& axis) {
  if (axis.across == 1) return fmt::format("{}={}", axis.name, axis.size);
  const int64_t within = axis.size < 0 ? -1 : axis.size / axis.across;
  return fmt::format("{}={}x{}", axis.name, axis.across, within);
}

// A positive number, or -1; nothing else.
std::optional<int64_t> size_from(std::string_view text) {
  int64_t size = 0;
  const char* const end = text.data() + text.size();
  const bool whole = std::from_chars(text.data(), end, size).ptr == end && !text.empty();
  return whole && (size >= 1 || size == -1) ? std::optional(size) : std::nullopt;
}

// "data=8", "data=2x4".
std::optional<MeshAxis> axis_from(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos) return std::nullopt;
  MeshAxis axis{.name = std::string(text.substr(0, equals))};
  text.remove_prefix(equals + 1);
  const size_t cross = text.find('x');
  const auto within = size_from(cross == text.npos ? text : text.substr(cross + 1));
  const auto across =
      cross == text.npos ? std::optional<int64_t>(1) : size_from(text.substr(0, cross));
  if (!within || !across || *across < 1) return std::nullopt;
  axis.across = *across;
  axis.size = *within < 0 ? -1 : *across * *within;
  return axis;
}

}  // namespace

std::string to_text(const Mesh& mesh) {
  std::string out;
  for (const auto& axis : mesh.axes) out += (out.empty() ? "" : ",") + to_text(axis);
  return out;
}

void from_text(std::string_view text, Mesh& mesh) {
  mesh.axes.clear();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    auto axis = axis_from(part);
    if (!axis) {
      throw ConfigError(
          fmt::format("expected mesh axes like data=2,fsdp=-1,model=2x4, got '{}'", part));
    }
    if (mesh.has(axis->name))
      throw ConfigError(fmt::format("expected each mesh axis once, got '{}' twice", axis->name));
    mesh.axes.push_back(std::move(*axis));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

Mesh infer_mesh(Mesh mesh, int64_t num_devices) {
  int64_t known = 1;
  MeshAxis* inferred = nullptr;
  for (auto& axis : mesh.axes) {
    if (axis.size == -1) {
      if (inferred)
        throw ConfigError(fmt::format("mesh: at most one axis of size -1, got {} and {}",
                                      inferred->name, axis.name));
      inferred = &axis;
    } else if (axis.size < 1) {
      throw ConfigError(
          fmt::format("mesh.{}: size must be positive or -1, got {}", axis.name, axis.size));
    } else {
      known *= axis.size;
    }
  }
  if (inferred && num_devices % known == 0) {
    inferred->size = num_devices / known;
    known = num_devices;
  }
  if (known != num_devices) {
    throw ConfigError(
        fmt::format("mesh: expected sizes that multiply to the {} devices, got {}; an axis of size "
                    "-1 takes what the others leave, as in data=-1",
                    num_devices, mesh.axes.empty() ? "no axes" : to_text(mesh)));
  }
  for (const auto& axis : mesh.axes) {
    if (axis.size % axis.across != 0) {
      throw ConfigError(
          fmt::format("mesh.{}: expected a size that divides by its {} parts across "
                      "slices or nodes, got {}",
                      axis.name, axis.across, axis.size));
    }
  }
  return mesh;
}

std::string to_text(const DimAxes& axes) {
  return axes.empty()       ? "None"
         : axes.size() == 1 ? axes[0]
                            : fmt::format("[{}]", fmt::join(axes, ", "));
}

void from_text(std::string_view text, DimAxes& axes) {
  PartitionSpec one;
  from_text(fmt::format("[{}]", text), one);
  if (one.dims.size() != 1)
    throw ConfigError(fmt::format("expected the mesh axes of one dim, got '{}'", text));
  axes = one.dims[0];
}

std::string to_text(const PartitionSpec& spec) {
  std::vector<std::string> dims;
  for (const auto& axes : spec.dims) dims.push_back(to_text(axes));
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

void from_text(std::string_view text, PartitionSpec& spec) {
  const auto fail = [&] {
    throw ConfigError(
        fmt::format("expected mesh axes like [None, [expert, fsdp], model], got '{}'", text));
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail();
  spec.dims.clear();
  int depth = 0;
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    if (depth == 1) spec.dims.emplace_back();
    if (depth == 2 || word != "None") spec.dims.back().push_back(word);
    word.clear();
  };
  for (char c : text) {
    if (c == '[') {
      if (++depth == 2) spec.dims.emplace_back();
      if (depth > 2) fail();
    } else if (c == ']' || c == ',') {
      flush();
      if (c == ']') --depth;
    } else if (c != ' ') {
      word += c;
    }
  }
  if (depth != 0) fail();
}

PartitionSpec restrict(const PartitionSpec& spec, const Mesh& mesh) {
  PartitionSpec out;
  for (const auto& axes : spec.dims) {
    auto& kept = out.dims.emplace_back();
    for (const auto& axis : axes) {
      if (mesh.size(axis) > 1) kept.push_back(axis);
    }
  }
  return out;
}

PartitionSpec restrict(const PartitionSpec& spec, const Shape& shape, const Mesh& mesh) {
  PartitionSpec out = restrict(spec, mesh);
  for (size_t d = 0; d < out.dims.size() && d < shape.size(); ++d) {
    int64_t parts = 1;
    std::erase_if(out.dims[d], [&](const std::string& axis) {
      if (shape[d] % (parts * mesh.size(axis)) != 0) return true;
      parts *= mesh.size(axis);
      return false;
    });
  }
  return out;
}

void check_partition(std::string_view name, const Shape& shape, const PartitionSpec& spec,
                     const Mesh& mesh) {
  const auto fail = [&](const std::string& what) {
    throw ConfigError(fmt::format("{} {}: {}", name, to_text(shape), what));
  };
  if (spec.dims.size() > shape.size()) {
    fail(
        fmt::format("expected mesh axes for at most {} dims, got {}", shape.size(), to_text(spec)));
  }
  std::vector<std::string> seen;
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    int64_t parts = 1;
    std::vector<std::string> sizes;
    for (const std::string& axis : spec.dims[d]) {
      if (std::ranges::find(seen, axis) != seen.end())
        fail(
            fmt::format("expected each mesh axis once, got '{}' twice in {}", axis, to_text(spec)));
      seen.push_back(axis);
      if (mesh.size(axis) == 1) continue;
      parts *= mesh.size(axis);
      sizes.push_back(fmt::format("{}={}", axis, mesh.size(axis)));
    }
    if (shape[d] % parts == 0) continue;
    std::vector<int64_t> fitting;
    for (int64_t n = 1; n <= parts; ++n) {
      if (shape[d] % n == 0) fitting.push_back(n);
    }
    fail(
        fmt::format("dim {} must divide by its mesh axes, got {} over {} = {} parts; it divides "
                    "into {}",
                    d, shape[d], fmt::join(sizes, " x "), parts, fmt::join(fitting, ", ")));
  }
}

}  // namespace axle
