#include "interop/gguf/gguf_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

std::map<std::string_view, GgufArchitecture>& architectures() {
  static std::map<std::string_view, GgufArchitecture> all;
  return all;
}

}  // namespace

GgufArchitectureRow::GgufArchitectureRow(const GgufArchitecture& architecture) {
  AXLE_CHECK(architectures().emplace(architecture.name, architecture).second,
             "two architectures " + std::string(architecture.name));
}

const GgufArchitecture& architecture_of(const GgufKeys& keys) {
  const auto found = architectures().find(keys.architecture());
  if (found != architectures().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, architecture] : architectures()) names.emplace_back(name);
  keys.metadata().at("general.architecture").fail("one of " + join(names, ", "));
}

const GgufArchitecture& architecture_for(const ForeignConfig& config) {
  const std::string family = config.text("model_type", "");
  std::vector<std::string> names;
  for (const auto& [name, architecture] : architectures()) {
    if (std::ranges::count(architecture.families, family) > 0) return architecture;
    names.insert(names.end(), architecture.families.begin(), architecture.families.end());
  }
  throw ConfigError(fmt::format("{}: expected a model of one of {} for GGUF, got {}",
                                config.where(), join(names, ", "), family));
}

}  // namespace axle
