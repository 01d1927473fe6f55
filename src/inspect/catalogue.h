// Lists everything that configs may name: recipes, the classes of each role, and the functions of
// each signature.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace axle {

/// A method of the layers of a role, such as "forward" or "extend_step", with the names of its
/// inputs in order.
struct MethodListing {
  std::string name;
  std::vector<std::string> inputs;
};
struct FieldListing {
  std::string name, value;  // its default
};
struct ClassListing {
  std::string name, doc;
  std::vector<FieldListing> fields;
};
struct RoleEntry {
  std::string name;
  std::vector<std::string> dims;  // names that `dims:` of eval-layer takes; empty: not a layer
  std::vector<MethodListing> methods;
  std::vector<ClassListing> classes;
};
struct FunctionEntry {
  std::string signature;
  std::vector<std::string> names;
};
struct Catalogue {
  std::vector<std::string> recipes;
  std::vector<RoleEntry> roles;
  std::vector<FunctionEntry> functions;
};

Catalogue catalogue();
std::string to_text(const Catalogue& all);
nlohmann::ordered_json to_json(const Catalogue& all);

}  // namespace axle
