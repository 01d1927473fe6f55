// The static arguments of a kernel: typed values by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"

namespace axle {

/// Sorted by name. A name consists of letters, digits and '_'.
struct KernelAttributes {
  using Value = std::variant<bool, int64_t, double, std::string>;
  std::map<std::string, Value, std::less<>> values = {};

  /// Returns the value; AXLE_CHECKs that it exists with this type.
  template <class T>
  const T& get(std::string_view name) const {
    const auto it = values.find(name);
    AXLE_CHECK(it != values.end() && std::holds_alternative<T>(it->second),
               "kernel attribute " + std::string(name));
    return std::get<T>(it->second);
  }
  bool operator==(const KernelAttributes&) const = default;
};

/// Writes the attributes as entries of an MLIR dictionary: `eps = 1e-05 : f64, name = "x"`.
std::string mlir_entries(const KernelAttributes& attributes);

}  // namespace axle
