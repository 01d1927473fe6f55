#include "cli/arguments/number_options.h"

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace axle::cli {
namespace {

template <class T>
T number_of(const std::string& flag, const std::string& text, const Bounds& bounds) {
  try {
    return Codec<T>::parse(text, bounds);
  } catch (const ConfigError& error) {
    throw CLI::ValidationError(flag, error.what());
  }
}

}  // namespace

template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::function<void(T)> take,
                        const std::string& help, const Bounds& bounds) {
  return app.add_option_function<std::string>(
      flag,
      [flag, take, bounds](const std::string& text) { take(number_of<T>(flag, text, bounds)); },
      help);
}

template CLI::Option* add_number(CLI::App&, const std::string&, std::function<void(int64_t)>,
                                 const std::string&, const Bounds&);
template CLI::Option* add_number(CLI::App&, const std::string&, std::function<void(double)>,
                                 const std::string&, const Bounds&);

}  // namespace axle::cli
