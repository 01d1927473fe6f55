// Sets fields of every config that has certain values.
#pragma once

#include "modifiers/field_texts.h"
#include "modifiers/modifier.h"

namespace axle {

/// Sets fields of every config of a class or role, where its path and its fields are as wanted: of
/// all attentions with 8 heads, of all norms of the decoder.
class SetWhere final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role.
    std::string select = {};
    /// Pattern of the paths of its configs; "**": everywhere.
    std::string at = "**";
    /// Values that fields must have, by their paths in the config: {"num_heads": "8"}.
    std::map<std::string, std::string> where = {};
    /// Values to set, by their paths in the config; "@dtype" is an option of its slot.
    std::map<std::string, std::string> set = {};
    AXLE_CONFIG(SetWhere, select, at, where, set)
  };
  /// Throws ConfigError if `set` is empty.
  SetWhere(const Config& cfg, const Dims&, const Scope&);
  /// Throws ConfigError for unknown names, for values that do not fit their fields, and if nothing
  /// matches.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Sets the fields of every config that `select` selects; its predicate may be any function.
/// Returns the report of the configs, called `what`, then those of the classes that took the place
/// of others. Throws NoMatch if nothing is selected, ConfigError with a line for each mistake.
///
///   const auto is_wide = [](const std::string&, const AnyConfig& config) {
///     return config.get_if<Attention::Config>()->num_heads.get() > 8;
///   };
///   set_where(cfg, {.type = &typeid(Attention), .where = is_wide}, {{"@remat", "SaveDots"}});
std::vector<Rewrite> set_where(ConfigRef root, const Selector& select, const FieldTexts& fields,
                               std::string_view what = "set_where");

}  // namespace axle
