// What the programs of this folder share that take flags, time steps and print one line of JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace axle {

/// The median and the least time of steps. `secs` is not empty.
struct StepTimes {
  double median = 0, least = 0;
  explicit StepTimes(std::vector<double> secs) {
    std::ranges::sort(secs);
    median = secs[secs.size() / 2];
    least = secs[0];
  }
};

/// Parses the flags of `app` and calls `run`. Returns the exit code of the program. `./dev bench`
/// gives all programs of this folder flags of Google Benchmark, which have no effect here.
inline int bench_main(CLI::App& app, int argc, char** argv, const std::function<void()>& run) {
  std::vector<char*> arguments;
  std::copy_if(argv, argv + argc, std::back_inserter(arguments),
               [](std::string_view a) { return !a.starts_with("--benchmark_"); });
  CLI11_PARSE(app, static_cast<int>(arguments.size()), arguments.data());
  try {
    run();
  } catch (const Error& error) {
    std::cerr << app.get_name() << ": " << error.what() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace axle
