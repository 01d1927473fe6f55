#include "ir/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

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

std::string to_text(const Mesh& mesh) {
  std::string out;
  for (const auto& axis : mesh.axes)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", axis.name, axis.size);
  return out;
}

void from_text(std::string_view text, Mesh& mesh) {
  mesh.axes.clear();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const size_t equals = part.find('=');
    int64_t size = 0;
    const char* const end = part.data() + part.size();
    if (equals == 0 || equals == part.npos ||
        std::from_chars(part.data() + equals + 1, end, size).ptr != end ||
        (size < 1 && size != -1)) {
      throw ConfigError(fmt::format("expected mesh axes like data=2,fsdp=-1, got '{}'", part));
    }
    const std::string name(part.substr(0, equals));
    for (const auto& axis : mesh.axes) {
      if (axis.name == name)
        throw ConfigError(fmt::format("expected each mesh axis once, got '{}' twice", name));
    }
    mesh.axes.push_back({name, size});
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
    throw ConfigError(fmt::format("mesh: sizes must multiply to the {} devices, got {}",
                                  num_devices, to_text(mesh)));
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

}  // namespace axle
