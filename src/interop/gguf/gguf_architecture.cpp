#include "interop/gguf/gguf_architecture.h"

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
  keys.file().metadata().at("general.architecture").fail("one of " + join(names, ", "));
}

}  // namespace axle
