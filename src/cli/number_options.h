// Options that hold numbers. They are read as the fields of a config are: CLI11 by itself takes 010
// for an octal number, and rounds one that is too large to the nearest that fits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// An option that gives its number to `take`, which may throw ConfigError. T: int64_t or double.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::function<void(T)> take,
                        const std::string& help);

/// One that puts its number into `to`.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<T>& to,
                        const std::string& help) {
  return add_number<T>(app, flag, std::function<void(T)>([&to](T v) { to = v; }), help);
}

}  // namespace axle::cli
