// Every recipe knows what to do on one GPU, on a host of eight and on CPUs.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "recipes/recipe.h"
#include "recipes/resolve/resolve.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "train/config/run_modules.h"

namespace axle {
namespace {

Resolved on(const std::string& recipe, const std::string& machine) {
  return resolve_config({.recipe = recipe, .machine = machine});
}

// Bytes of one of this many GPUs that the step needs by the estimate. Compilers need up to `kMore`
// times the temporaries that it counts.
double bytes_of_gpu(const Trainer::Config& resolved, int64_t num_gpus) {
  constexpr double kMore = 2.4;
  Trainer::Config config = resolved;
  UseData{kSyntheticData}.apply_to(config);
  const RunModules training(config);
  const Mesh mesh = infer_mesh(config.mesh, num_gpus);
  const MemoryEstimate estimate = estimate_memory(
      step_program(training.program_spec(mesh, training.make_input()->element_spec())));
  return estimate.argument_bytes + kMore * estimate.temporary_bytes;
}

// Beginnings of the names of recipes whose state and temporaries are too large for this many GPUs
// of 80 GB, in any number of parts of a batch.
const std::map<int64_t, std::vector<std::string>> kTooLarge = {
    {1, {"deepseek-v3-671B", "envy-Switch-",    "fuji-3B-",      "fuji-405B-",       "fuji-70B-",
         "fuji-7B-",         "fuji-8B-",        "gala-7B",       "gala-sigmoid-7B-", "gemma3-12B",
         "gemma3-27B",       "gemma3-4B",       "gspmd-16B",     "honeycrisp-3B",    "mixtral-8x7B",
         "qwen3-14B",        "qwen3-235B-A22B", "qwen3-30B-A3B", "qwen3-32B",        "qwen3-4B",
         "qwen3-8B"}},
    {8,
     {"deepseek-v3-671B", "envy-Switch-", "fuji-405B-", "fuji-70B-", "gemma3-12B", "gemma3-27B",
      "mixtral-8x7B", "qwen3-14B", "qwen3-235B-A22B", "qwen3-30B-A3B", "qwen3-32B"}}};

TEST(MachineRules, FitOneGpuAndAHost) {
  constexpr double kGiB = 1 << 30, kMemory = 72.8 * kGiB;
  for (const auto& [num_gpus, too_large] : kTooLarge) {
    std::set<std::string> unused(too_large.begin(), too_large.end());
    for (const std::string& name : recipe_names()) {
      const std::string machine = "gpu-H100-" + std::to_string(num_gpus);
      SCOPED_TRACE(name + " on " + machine);
      const Resolved got = on(name, machine);
      EXPECT_TRUE(got.report.unmatched_rules.empty());
      const double bytes = bytes_of_gpu(got.config, num_gpus);
      const auto known = std::ranges::find_if(
          too_large, [&](const std::string& start) { return name.starts_with(start); });
      EXPECT_EQ(bytes > kMemory, known != too_large.end()) << bytes / kGiB << " GiB";
      if (known != too_large.end()) unused.erase(*known);
    }
    EXPECT_THAT(unused, ::testing::IsEmpty()) << "no such recipes";
  }
}

// Nobody who trains on CPUs reads of rules of other machines.
TEST(MachineRules, FitCpusWhereThereAreAny) {
  for (const std::string& name : recipe_names()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(on(name, "cpu-2").report.unmatched_rules.empty());
  }
}

}  // namespace
}  // namespace axle
