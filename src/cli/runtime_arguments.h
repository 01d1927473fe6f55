// Where programs of a verb run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace axle::cli {

/// --backend, --devices and --compile-cache.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  std::string compile_cache = {};
  void add_to(CLI::App& app);
};

}  // namespace axle::cli
