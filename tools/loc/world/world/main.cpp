// The program of a world. Its lines are for tools/loc_complexity: fields between tabs.
//
//   world count WORLD NAME...                op counts of these experiments
//   world step WORLD NAME...                 one training step and some decoding of each
//   world apply FEATURE WORLD TWIN NAME...   a feature for all; compares these with their twins
#include <fmt/format.h>

#include <ctime>
#include <iostream>
#include <span>

#include "config/document/print.h"
#include "config/registry.h"
#include "config/walk.h"
#include "world/experiment.h"
#include "world/numbers.h"

using namespace axle;

namespace {

using Names = std::span<char* const>;

int count(const World& world, Names names) {
  for (const std::string name : names) {
    fmt::print("ops\t{}", name);
    for (const auto& [op, n] : op_counts(world.experiments.at(name))) fmt::print("\t{} {}", op, n);
    fmt::print("\n");
  }
  return 0;
}

// The loss and the gradient norm, as the step reports them.
int step(const World& world, Names names) {
  for (const std::string name : names) {
    const Tree<HostTensor> all = numbers_of(world.experiments.at(name));
    const auto metric = [&](const char* metric_name) {
      return all.at(metric_name).values<float>()[0];
    };
    fmt::print("step\t{}\t{}\t{}\n", name, metric("step/loss"), metric("step/grad_norm"));
  }
  return 0;
}

// Returns the first name whose numbers differ or that one side lacks; "" if all are equal.
std::string difference(const Tree<HostTensor>& a, const Tree<HostTensor>& b) {
  for (const auto& [name, value] : a) {
    const auto at = b.find(name);
    if (at == b.end()) return name + " (missing)";
    if (!(at->second == value)) return name;
  }
  for (const auto& [name, value] : b) {
    if (!a.contains(name)) return name + " (new)";
  }
  return "";
}

int64_t num_modules(World& world) {
  int64_t modules = 0;
  walk(ConfigRef(world), [&](const std::string&, const Slot& slot) {
    const AnyConfig* held = held_config(slot);
    modules += held && *held;
  });
  return modules;
}

// Seconds of the processor that the feature takes for the whole world: the fastest of some runs,
// each on a copy.
double seconds_of(Feature* feature, const World& world) {
  std::clock_t best = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) {
    World copy = world;
    const std::clock_t begin = std::clock();
    feature(copy);
    best = std::min(best, std::clock() - begin);
  }
  return static_cast<double>(best) / CLOCKS_PER_SEC;
}

int apply(const std::string& name, World& world, const World& twin, Names names) {
  Feature* const feature = function_named<Feature>(name, "feature");
  World changed = world;
  feature(changed);
  fmt::print("modules\t{}\n", num_modules(world));
  fmt::print("seconds\t{:.9f}\n", seconds_of(feature, world));
  for (const auto& [experiment, config] : changed.experiments) {
    const std::string differs = diff(twin.experiments.at(experiment), config);
    if (!differs.empty())
      fmt::print("config\t{}\t{}\n", experiment, differs.substr(0, differs.find('\n')));
    if (diff(world.experiments.at(experiment), config).empty())
      fmt::print("unchanged\t{}\n", experiment);
  }
  for (const std::string experiment : names) {
    const Tree<HostTensor> own = numbers_of(changed.experiments.at(experiment));
    const std::string differs = difference(numbers_of(twin.experiments.at(experiment)), own);
    const std::string effect = difference(numbers_of(world.experiments.at(experiment)), own);
    fmt::print("numbers\t{}\t{}\t{}\t{}\n", experiment, own.size(), differs, effect);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Names arguments(argv + 1, static_cast<size_t>(argc - 1));
  try {
    if (arguments.size() < 2) throw ConfigError("expected count, step or apply and a world");
    const std::string verb = arguments[0];
    if (verb == "apply" && arguments.size() >= 4) {
      World world = read_world(arguments[2]);
      return apply(arguments[1], world, read_world(arguments[3]), arguments.subspan(4));
    }
    const World world = read_world(arguments[1]);
    if (verb == "count") return count(world, arguments.subspan(2));
    if (verb == "step") return step(world, arguments.subspan(2));
    throw ConfigError("expected count, step or apply, got " + verb);
  } catch (const std::exception& error) {
    std::cerr << "world: " << error.what() << "\n";
    return 1;
  }
}
