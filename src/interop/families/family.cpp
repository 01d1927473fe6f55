#include "interop/families/family.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

std::map<std::string_view, Family>& registered() {
  static std::map<std::string_view, Family> all;
  return all;
}

}  // namespace

const std::map<std::string_view, Family>& families() { return registered(); }

FamilyRow::FamilyRow(const Family& family) {
  AXLE_CHECK(registered().emplace(family.model_type, family).second,
             "two families " + std::string(family.model_type));
}

const Family& family_of(const ForeignConfig& config) {
  const auto found = families().find(config.text("model_type", ""));
  if (found != families().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, family] : families()) names.emplace_back(name);
  config.fail("model_type", "one of " + join(names, ", "));
}

}  // namespace axle
