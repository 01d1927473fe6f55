// Sets one field of every config that is selected.
#pragma once

#include "config/replace.h"

namespace axle {

/// Sets the field `name` of every config that `select` selects to `*value`, a value of type `type`.
/// Throws NoMatch if nothing is selected, ConfigError for a config without such a field.
RewriteReport set_field(ConfigRef root, const Selector& select, std::string_view name,
                        const void* value, const std::type_info& type);
template <class T>
RewriteReport set_field(ConfigRef root, const Selector& select, std::string_view name,
                        const T& value) {
  return set_field(root, select, name, &value, typeid(T));
}

}  // namespace axle
