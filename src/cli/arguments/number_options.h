// Options with number values. They are parsed like fields of a config. CLI11's own parser reads 010
// as an octal number and clamps a number that is too large.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "config/document/codec.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// Adds an option that passes its number, which must be within `bounds`, to `take`, which may throw
/// ConfigError. T is int64_t or double.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::function<void(T)> take,
                        const std::string& help, const Bounds& bounds = {});

/// Adds an option that stores its number in `to`.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<T>& to,
                        const std::string& help, const Bounds& bounds = {}) {
  return add_number<T>(app, flag, std::function<void(T)>([&to](T v) { to = v; }), help, bounds);
}

}  // namespace axle::cli
