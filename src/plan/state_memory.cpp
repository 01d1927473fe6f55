#include "plan/state_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/units.h"
#include "layers/check_mesh.h"
#include "layers/mesh_axes.h"
#include "runtime/host_needs.h"

namespace axle {
namespace {

// Throws ConfigError for an axis that must be a typo: it is no standard mesh axis and no part of
// the state is sharded over it.
void check_unknown_axes(Mesh mesh, const std::vector<ProgramValue>& state) {
  std::erase_if(mesh.axes, [](const MeshAxis& axis) {
    const std::string role = axis.name.substr(axis.name.find(':') + 1);
    return std::ranges::count(kMeshAxes, role) > 0;
  });
  check_mesh(mesh, state);
}

}  // namespace

std::optional<bool> StateMemory::fits() const {
  if (device_memory_bytes == 0) return std::nullopt;
  const double one = static_cast<double>(device_memory_bytes);
  if (device_bytes) return *device_bytes <= one;
  return whole_bytes > one * static_cast<double>(num_devices) ? std::optional(false) : std::nullopt;
}

StateMemory state_memory(const std::vector<ProgramValue>& state, const Mesh& mesh,
                         int64_t num_devices, int64_t device_memory_bytes) {
  StateMemory out{.num_devices = num_devices, .device_memory_bytes = device_memory_bytes};
  for (const ProgramValue& leaf : state)
    out.whole_bytes += static_cast<double>(leaf.type.num_bytes());
  try {
    const Mesh whole = infer_mesh(mesh, num_devices);
    check_unknown_axes(whole, state);
    double sum = 0;
    for (const ProgramValue& leaf : state) {
      check_partition(leaf.name, leaf.type.dims, leaf.sharding, whole);
      sum += static_cast<double>(bytes_on_devices(leaf, whole)) / static_cast<double>(num_devices);
    }
    out.device_bytes = sum;
  } catch (const ConfigError&) {  // the mesh has no layout for the state
  }
  return out;
}

std::string to_text(const StateMemory& s) {
  const double one = static_cast<double>(s.device_memory_bytes);
  const auto fits = s.fits();
  std::string out = fmt::format("the training state is {}", bytes_text(s.whole_bytes));
  if (s.device_bytes) {
    out += fmt::format(", {} of it on each device", bytes_text(*s.device_bytes));
    if (fits)
      out += fmt::format(": it {} into {}", *fits ? "fits" : "does not fit", bytes_text(one));
    return out;
  }
  out += fits ? ": it does not fit: " : ", and this mesh has no layout for it";
  if (s.device_memory_bytes == 0) return out;
  if (!fits) out += "; ";
  const bool is_one = s.num_devices == 1;
  return out + fmt::format("{} device{} of {} {} {} in total", s.num_devices, is_one ? "" : "s",
                           bytes_text(one), is_one ? "has" : "have",
                           bytes_text(one * static_cast<double>(s.num_devices)));
}

nlohmann::ordered_json to_json(const StateMemory& s) {
  using Json = nlohmann::ordered_json;
  const auto fits = s.fits();
  const auto integer = [](double bytes) {
    constexpr double kMost = 1e18;
    return static_cast<int64_t>(std::ceil(std::min(bytes, kMost)));
  };
  return {{"bytes", integer(s.whole_bytes)},
          {"bytes_per_device", s.device_bytes ? Json(integer(*s.device_bytes)) : Json(nullptr)},
          {"device_memory_bytes", s.device_memory_bytes},
          {"fits", fits ? Json(*fits) : Json(nullptr)}};
}

RefusedMeshError::RefusedMeshError(std::string why, StateMemory of_state)
    : ConfigError(fmt::format("{}; {}", why, to_text(of_state))),
      reason(std::move(why)),
      state(of_state) {}

}  // namespace axle
