#include "world/experiment.h"

#include <fstream>
#include <sstream>

#include "config/document/serialize.h"

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

AXLE_REGISTER(Experiment)
AXLE_REGISTER(World)
