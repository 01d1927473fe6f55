// Compiles a loss with its gradients and times it: the middle of the benchmarks of single layers.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/process_start.h"
#include "bench_main.h"
#include "lower/stablehlo.h"
#include "pjrt/pjrt_runtime.h"
#include "transform/grad.h"

namespace axle {

/// Compiles `loss` of `arguments` and its gradients of all of them, and runs that `num_steps` times
/// after one step that is not counted. Returns the fields of the line of JSON: compile_s [s],
/// step_ms and min_ms [ms], loss, and temporary_mib [MiB] where the backend says it. `loss` returns
/// one f32 scalar.
inline nlohmann::ordered_json time_gradients(const std::string& name,
                                             const std::function<Values(const Values&)>& loss,
                                             const std::vector<HostTensor>& arguments,
                                             int64_t num_steps,
                                             const std::string& backend = "cpu") {
  std::vector<ProgramValue> inputs, outputs{{.name = "loss", .type = {DType::kF32, {}}}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    inputs.push_back({.name = fmt::format("x{}", i), .type = arguments[i].type()});
    outputs.push_back({.name = fmt::format("gradient{}", i), .type = arguments[i].type()});
  }
  const auto runtime = make_runtime({.backend = backend});
  const auto compile_start = Clock::now();
  const auto executable = runtime->compile(trace_program(
      name,
      [&](const Values& x) {
        auto [out, gradients] = value_and_grad(loss, x);
        out.insert(out.end(), gradients.begin(), gradients.end());
        return out;
      },
      inputs, outputs));
  const double compile_secs = seconds_since(compile_start);

  Arrays arrays;
  for (const HostTensor& value : arguments) arrays.push_back(runtime->make_array(value, {}, {}));
  std::vector<double> secs;
  double value = 0;
  for (int64_t i = 0; i <= num_steps; ++i) {
    const auto start = Clock::now();
    value = executable->execute(arrays)[0]->to_host().at(0);
    if (i > 0) secs.push_back(seconds_since(start));
  }
  const StepTimes times(std::move(secs));
  nlohmann::ordered_json out = {{"compile_s", compile_secs},
                                {"step_ms", times.median * 1e3},
                                {"min_ms", times.least * 1e3},
                                {"loss", value}};
  if (const auto memory = executable->memory())
    out["temporary_mib"] = static_cast<double>(memory->temporary_bytes) / (1 << 20);
  return out;
}

}  // namespace axle
