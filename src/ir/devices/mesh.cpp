#include "ir/devices/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"

namespace axle {

int64_t Mesh::num_devices() const {
  Shape sizes;
  for (const auto& axis : axes) sizes.push_back(axis.size);
  const auto n = checked_product(sizes);
  if (!n)
    throw ConfigError(
        fmt::format("mesh: expected fewer than 2^63 devices, got {}", to_text(*this)));
  return *n;
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

Mesh infer_mesh(Mesh mesh, int64_t num_devices) {
  int64_t known = 1;
  MeshAxis* inferred = nullptr;
  for (auto& axis : mesh.axes) {
    if (axis.size == -1) {
      if (inferred)
        throw ConfigError(fmt::format("mesh: expected at most one axis of size -1, got {} and {}",
                                      inferred->name, axis.name));
      inferred = &axis;
    } else if (axis.size < 1) {
      throw ConfigError(
          fmt::format("mesh.{}: size must be positive or -1, got {}", axis.name, axis.size));
    } else if (__builtin_mul_overflow(known, axis.size, &known)) {
      throw ConfigError(
          fmt::format("mesh: expected {} devices in all, got {}", num_devices, to_text(mesh)));
    }
  }
  if (inferred) {
    if (num_devices % known != 0) {
      throw ConfigError(fmt::format(
          "mesh: expected sizes that divide the {} devices, got {} for the axes other than {} in "
          "{}; choose other sizes with --mesh or a mesh rule for this machine",
          num_devices, known, inferred->name, to_text(mesh)));
    }
    inferred->size = num_devices / known;
  } else if (known != num_devices) {
    throw ConfigError(
        fmt::format("mesh: expected sizes that multiply to the {} devices, got {}; an axis of size "
                    "-1 takes the remaining devices, as in data=-1",
                    num_devices, mesh.axes.empty() ? "no axes" : to_text(mesh)));
  }
  for (const auto& axis : mesh.axes) {
    if (axis.size % axis.across != 0) {
      throw ConfigError(
          fmt::format("mesh.{}: expected a size divisible by its {} parts across "
                      "slices or nodes, got {}",
                      axis.name, axis.across, axis.size));
    }
  }
  return mesh;
}

std::optional<std::string> axis_named_twice(const PartitionSpec& spec) {
  std::set<std::string> seen;
  for (const DimAxes& axes : spec.dims) {
    if (axes == kUnconstrained) continue;
    for (const std::string& axis : axes) {
      if (!seen.insert(axis).second) return axis;
    }
  }
  return std::nullopt;
}

namespace {

// "replica:data" is an axis that shards everything that "data" shards; "data" is its role.
std::string_view role_of(std::string_view axis) {
  const size_t colon = axis.find(':');
  return colon == axis.npos ? axis : axis.substr(colon + 1);
}

}  // namespace

PartitionSpec restrict(const PartitionSpec& spec, const Mesh& mesh) {
  PartitionSpec out;
  std::set<std::string> seen;  // an axis may be named both by itself and by its role
  for (const auto& axes : spec.dims) {
    auto& kept = out.dims.emplace_back();
    if (axes == kUnconstrained) {
      kept = axes;
      continue;
    }
    for (const auto& axis : axes) {
      for (const MeshAxis& own : mesh.axes) {
        const bool meant = own.name == axis || role_of(own.name) == axis;
        if (meant && own.size > 1 && seen.insert(own.name).second) kept.push_back(own.name);
      }
    }
  }
  return out;
}

DimAxes names_of(const std::vector<MeshAxis>& axes) {
  DimAxes out;
  for (const MeshAxis& axis : axes) out.push_back(axis.name);
  return out;
}

int64_t num_parts(const DimAxes& axes, const Mesh& mesh) {
  int64_t out = 1;
  for (const std::string& axis : axes) out = saturating_product(out, mesh.size(axis));
  return out;
}

int64_t num_parts(const PartitionSpec& spec, const Mesh& mesh) {
  int64_t out = 1;
  for (const DimAxes& axes : spec.dims) out = saturating_product(out, num_parts(axes, mesh));
  return out;
}

PartitionSpec restrict(const PartitionSpec& spec, const Shape& shape, const Mesh& mesh) {
  PartitionSpec out = restrict(spec, mesh);
  for (size_t d = 0; d < out.dims.size() && d < shape.size(); ++d) {
    int64_t parts = 1;
    std::erase_if(out.dims[d], [&](const std::string& axis) {
      const int64_t more = saturating_product(parts, mesh.size(axis));
      if (shape[d] % more != 0) return true;
      parts = more;
      return false;
    });
  }
  return out;
}

namespace {
// The largest number of parts that an error message lists; nobody divides a dim into more.
constexpr int64_t kMaxPartsNamed = 1 << 16;
}  // namespace

void check_partition(std::string_view name, const Shape& shape, const PartitionSpec& spec,
                     const Mesh& mesh) {
  const auto fail = [&](const std::string& what) {
    throw ConfigError(fmt::format("{} {}: {}", name, to_text(shape), what));
  };
  if (spec.dims.size() > shape.size()) {
    fail(
        fmt::format("expected mesh axes for at most {} dims, got {}", shape.size(), to_text(spec)));
  }
  if (const auto axis = axis_named_twice(spec))
    fail(fmt::format("expected each mesh axis once, got '{}' twice in {}", *axis, to_text(spec)));
  const PartitionSpec own = restrict(spec, mesh);
  for (size_t d = 0; d < own.dims.size(); ++d) {
    const int64_t parts = num_parts(own.dims[d], mesh);
    if (shape[d] % parts == 0) continue;
    std::vector<std::string> sizes;
    for (const std::string& axis : own.dims[d])
      sizes.push_back(fmt::format("{}={}", axis, mesh.size(axis)));
    std::vector<int64_t> fitting;
    for (int64_t n = 1; n <= std::min(parts, kMaxPartsNamed); ++n) {
      if (shape[d] % n == 0) fitting.push_back(n);
    }
    // What only the axis of the experts shards is a dim that counts them.
    const bool counts_experts = std::ranges::all_of(spec.dims[d], [](const std::string& axis) {
      return axis == "expert" || axis.ends_with(":expert");
    });
    fail(fmt::format(
        "dim {}{} must be divisible by its mesh axes, got {} over {} = {} parts; it divides into "
        "{}",
        d, counts_experts ? ", num_experts," : "", shape[d], fmt::join(sizes, " x "), parts,
        fmt::join(fitting, ", ")));
  }
}

namespace {

constexpr int64_t kMaxDevices = 1'000'000'000;  // of one axis; a product of two fits 64 bits

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string to_text(const MeshAxis& axis) {
  if (axis.across == 1) return fmt::format("{}={}", axis.name, axis.size);
  const int64_t within = axis.size < 0 ? -1 : axis.size / axis.across;
  return fmt::format("{}={}x{}", axis.name, axis.across, within);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_name_char);
}

// True for "data", or for "replica:data": a name of its own and the axis whose role it has.
bool is_axis_name(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return is_name(text);
  const std::string_view own = text.substr(0, colon), role = text.substr(colon + 1);
  return is_name(own) && is_name(role) && own != role;
}

// Reads a positive number or -1; none for anything else.
std::optional<int64_t> size_from(std::string_view text) {
  int64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, size);
  const bool whole = error == std::errc() && rest == end;
  return whole && ((size >= 1 && size <= kMaxDevices) || size == -1) ? std::optional(size)
                                                                     : std::nullopt;
}

// Reads "data=8", "data=2x4" or "replica:data=8".
std::optional<MeshAxis> axis_from(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos) return std::nullopt;
  MeshAxis axis{.name = std::string(text.substr(0, equals))};
  if (!is_axis_name(axis.name)) return std::nullopt;
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

// Reads a spec: a list of dims, where a dim is a name, None or a list of names.
class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : rest_(trim(text)) {}

  // Returns none if the text is not a spec.
  std::optional<PartitionSpec> read() {
    PartitionSpec out;
    const bool is_spec = read_list([&] { return read_dim(out.dims.emplace_back()); });
    return is_spec && rest_.empty() ? std::optional(out) : std::nullopt;
  }

 private:
  bool read_dim(DimAxes& axes) {
    if (rest_.starts_with('[')) return read_list([&] { return read_name(axes); });
    if (!read_name(axes)) return false;
    if (axes[0] == "None") axes.clear();
    return true;
  }
  template <class ReadItem>
  bool read_list(ReadItem read_item) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!read_item()) return false;
    } while (take(','));
    return take(']');
  }
  bool read_name(DimAxes& axes) {
    const auto end = std::ranges::find_if_not(rest_, is_name_char);
    axes.emplace_back(rest_.begin(), end);
    move_on(axes.back().size());
    return !axes.back().empty();
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    move_on(1);
    return true;
  }
  void move_on(size_t n) { rest_ = trim(rest_.substr(n)); }

  std::string_view rest_;
};

}  // namespace

std::string to_text(const Mesh& mesh) {
  std::string out;
  for (const auto& axis : mesh.axes) out += (out.empty() ? "" : ",") + to_text(axis);
  return out;
}

void from_text(std::string_view text, Mesh& mesh) {
  mesh.axes.clear();
  if (trim(text).empty()) return;
  for (const std::string_view part : split(text, ',')) {
    auto axis = axis_from(trim(part));
    if (!axis) {
      throw ConfigError(
          fmt::format("expected mesh axes like data=2,fsdp=-1,model=2x4, got '{}'", part));
    }
    if (mesh.has(axis->name))
      throw ConfigError(fmt::format("expected each mesh axis once, got '{}' twice", axis->name));
    mesh.axes.push_back(std::move(*axis));
  }
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
  auto read = SpecReader(text).read();
  if (!read) {
    throw ConfigError(
        fmt::format("expected mesh axes like [None, [expert, fsdp], model], got '{}'", text));
  }
  spec = std::move(*read);
}

std::vector<int64_t> unravel(int64_t position, std::span<const int64_t> sizes) {
  std::vector<int64_t> out(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; position /= sizes[d]) out[d] = position % sizes[d];
  return out;
}

int64_t ravel(std::span<const int64_t> coordinates, std::span<const int64_t> sizes) {
  int64_t out = 0;
  for (size_t d = 0; d < sizes.size(); ++d) out = out * sizes[d] + coordinates[d];
  return out;
}

std::vector<int64_t> axis_sizes(const Mesh& mesh) {
  std::vector<int64_t> out;
  for (const MeshAxis& axis : mesh.axes) out.push_back(axis.size);
  return out;
}

}  // namespace axle
