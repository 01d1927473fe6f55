// What may stand in a config, told from the config system itself: fields, defaults, ranges, and the
// comments above them in the sources.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields/bounds.h"

namespace axle {

struct FieldDescription {
  std::string name;
  /// The default, or what the recipe has there: as `axle config show` prints it.
  std::string value;
  /// What the field takes: "a number above 0", "none or a Norm".
  std::string takes;
  /// Of numbers.
  std::optional<Bounds> bounds = {};
  std::string doc;
};

struct ConfigDescription {
  std::string name;
  /// "Optimizer", "function Tensor (Step const&)", "role", "recipe"; what it takes, of a field.
  std::string kind;
  std::string doc = {};
  std::vector<FieldDescription> fields = {};
  /// Of a role: the classes that fit.
  std::vector<FieldDescription> classes = {};
};

/// Of a class, functor, struct, role, function or recipe; "Role.Class" where several classes have
/// the name. With a path, of that field in the recipe `name`. Throws ConfigError for unknown names
/// with the nearest ones.
ConfigDescription describe_config(std::string_view name, std::string_view path = {});

std::string to_text(const ConfigDescription& description);
/// {name, kind, doc, fields: {name: {value, takes, min?, max?, open_min?, open_max?, doc}},
/// classes: {name: {doc}}}; min and max are absent where there are none.
nlohmann::ordered_json to_json(const ConfigDescription& description);

}  // namespace axle
