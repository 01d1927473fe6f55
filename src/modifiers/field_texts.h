// Values of fields as text, by path: how modifiers set fields and look for them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/replace.h"

namespace axle {

/// {"num_heads": "8", "core": "SigmoidAttention", "@remat": "SaveDots"}; values as `--set` takes
/// them.
using FieldTexts = std::map<std::string, std::string>;

/// What set_texts() did: the paths of the fields, and the classes that took the place of others.
struct SetTexts {
  RewriteReport fields;
  std::vector<Rewrite> classes;
};

/// Sets fields and options below `root`, in the order of their paths. Throws ConfigError with a
/// line for each mistake, and sets the other fields then.
SetTexts set_texts(ConfigRef root, const FieldTexts& texts, std::string_view root_name = {});

/// Returns a selector of the configs of a class or role, at the paths that match the pattern `at`,
/// whose fields have the values of `where`: to set them would change nothing. A class without such
/// a field is not selected. Throws ConfigError for unknown names, and if no class has such a field;
/// the selector throws for values that do not fit their field. `name` of the modifier and `field`,
/// which holds the class or role, are for messages.
Selector select_texts(std::string_view class_or_role, std::string_view at, const FieldTexts& where,
                      std::string_view name, std::string_view field);

/// Returns the class of this name. Throws ConfigError, naming the modifier's `field`, if there is
/// none.
const ConfigType& class_named(std::string_view class_name, std::string_view name,
                              std::string_view field);

}  // namespace axle
