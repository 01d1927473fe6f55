// The program of a world. Its lines are for tools/loc_complexity: fields between tabs.
//
//   world count WORLD NAME...              op counts of these experiments
//   world step WORLD                       one training step and some decoding of each experiment
//   world apply WORLD FEATURE=TWIN...      features for a whole world: times, and configs against
//                                          those of the twins
//   world compare WORLD FEATURE=TWIN...    the numbers of each experiment with each feature against
//                                          those of its twin; also what `step` prints
#include <fmt/format.h>

#include <ctime>
#include <iostream>
#include <span>

#include "config/print.h"
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
void print_step(const std::string& name, const Tree<HostTensor>& numbers) {
  const auto metric = [&](const char* metric_name) {
    return numbers.at(metric_name).values<float>()[0];
  };
  fmt::print("step\t{}\t{}\t{}\n", name, metric("step/loss"), metric("step/grad_norm"));
}

int step(const World& world) {
  for (const auto& [name, experiment] : world.experiments) print_step(name, numbers_of(experiment));
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

// A feature, a world with it, and the world of the twins.
struct Changed {
  std::string name;
  Feature* feature;
  World world, twin;
};

// Reads "FEATURE=TWIN" and applies the feature.
Changed read_changed(const std::string& text, const World& world) {
  const size_t at = text.find('=');
  if (at == std::string::npos) throw ConfigError("expected FEATURE=TWIN, got " + text);
  const std::string name = text.substr(0, at);
  Changed out{.name = name,
              .feature = function_named<Feature>(name, "feature"),
              .world = world,
              .twin = read_world(text.substr(at + 1))};
  out.feature(out.world);
  return out;
}

int apply(World& world, Names features) {
  for (const std::string text : features) {
    const auto [name, feature, changed, twin] = read_changed(text, world);
    fmt::print("modules\t{}\t{}\n", name, num_modules(world));
    fmt::print("seconds\t{}\t{:.9f}\n", name, seconds_of(feature, world));
    for (const auto& [experiment, config] : changed.experiments) {
      const std::string differs = diff(twin.experiments.at(experiment), config);
      if (!differs.empty())
        fmt::print("config\t{}\t{}\t{}\n", name, experiment, differs.substr(0, differs.find('\n')));
      if (diff(world.experiments.at(experiment), config).empty())
        fmt::print("unchanged\t{}\t{}\n", name, experiment);
    }
  }
  return 0;
}

int compare(const World& world, Names features) {
  std::vector<Changed> all;
  for (const std::string text : features) all.push_back(read_changed(text, world));
  for (const auto& [experiment, config] : world.experiments) {
    const Tree<HostTensor> before = numbers_of(config);
    print_step(experiment, before);
    for (const Changed& changed : all) {
      const Tree<HostTensor> own = numbers_of(changed.world.experiments.at(experiment));
      const std::string differs =
          difference(numbers_of(changed.twin.experiments.at(experiment)), own);
      fmt::print("numbers\t{}\t{}\t{}\t{}\t{}\n", changed.name, experiment, own.size(), differs,
                 difference(before, own));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Names arguments(argv + 1, static_cast<size_t>(argc - 1));
  try {
    if (arguments.size() < 2)
      throw ConfigError("expected count, step, apply or compare, and a world");
    const std::string verb = arguments[0];
    World world = read_world(arguments[1]);
    const Names rest = arguments.subspan(2);
    if (verb == "count") return count(world, rest);
    if (verb == "step") return step(world);
    if (verb == "apply") return apply(world, rest);
    if (verb == "compare") return compare(world, rest);
    throw ConfigError("expected count, step, apply or compare, got " + verb);
  } catch (const std::exception& error) {
    std::cerr << "world: " << error.what() << "\n";
    return 1;
  }
}
