// What configs may hold: recipes, the classes of each role, and their fields with defaults and
// ranges.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_type.h"

namespace axle {

// Lists everything that configs may name: recipes, the classes of each role, and the functions of
// each signature.

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
  std::vector<std::string> recipes, test_recipes;
  std::vector<RoleEntry> roles;
  std::vector<FunctionEntry> functions;
};

Catalogue catalogue();
std::string to_text(const Catalogue& all);
nlohmann::ordered_json to_json(const Catalogue& all);

// Describes what configs may hold, from the config system itself: fields, defaults, ranges, and the
// comments above them in the sources.

struct FieldDescription {
  std::string name;
  /// The default, or the recipe's value, as `axle config show` prints it.
  std::string value;
  /// Values that the field accepts: "a number above 0", "none or a Norm".
  std::string takes;
  /// Bounds of a number; none: not a bounded number.
  std::optional<Bounds> bounds = {};
  std::string doc;
};

/// The description of a class, role, function, recipe or field.
struct ConfigDescription {
  std::string name;
  /// "Optimizer", "function Tensor (Step const&)", "role" or "recipe"; for a field, the values that
  /// it accepts.
  std::string kind;
  std::string doc = {};
  std::vector<FieldDescription> fields = {};
  /// For a role: its classes.
  std::vector<FieldDescription> classes = {};
};

/// Describes the class, functor, struct, role, function or recipe `name`; use "Role.Class" if
/// several classes have the name. With a path, describes that field of the recipe `name`. Throws
/// ConfigError with the nearest names if the name is unknown.
ConfigDescription describe_config(std::string_view name, std::string_view path = {});

std::string to_text(const ConfigDescription& description);
/// {name, kind, doc, fields: {name: {value, takes, min?, max?, open_min?, open_max?, doc}},
/// classes: {name: {doc}}}; min and max are absent if there are none.
nlohmann::ordered_json to_json(const ConfigDescription& description);

}  // namespace axle
