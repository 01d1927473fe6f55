#include "world/experiment.h"

#include <fstream>
#include <sstream>

#include "config/serialize.h"

using namespace axle;

World read_world(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ConfigError(path + ": expected a file");
  std::ostringstream text;
  text << file.rdbuf();
  World world;
  from_yaml(world, text.str(), path);
  return world;
}

void modify_each(ConfigRef world, const Child<Modifier>& modifier) {
  for_each_match(world, {.type = &typeid(Experiment)},
                 [&](const std::string& path, const Slot& experiment) {
                   apply_modifier(modifier, path, ConfigRef(experiment));
                 });
}

AXLE_REGISTER(Experiment)
AXLE_REGISTER(World)
