// Modifiers of fields by path, and of configs by class.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/replace.h"
#include "modifiers/modifier.h"
#include "nn/statistic.h"

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

/// Sets fields to values given as text, like `--set`, in the order of their paths.
class SetFields final : public Modifier {
 public:
  struct Config {
    /// Values by path: {"input.batch_size": "32",
    /// "compiler_options.xla_gpu_enable_latency_hiding_scheduler": "true"}.
    std::map<std::string, std::string> set = {};
    AXLE_CONFIG(SetFields, set)
  };
  /// Throws ConfigError if `set` is empty.
  SetFields(const Config& cfg, const Dims&, const Scope&);
  /// Throws ConfigError for unknown paths and for values that do not fit their fields.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// {"num_heads": "8", "core": "SigmoidAttention", "@remat": "SaveDots"}; values as `--set` takes
/// them.
using FieldTexts = std::map<std::string, std::string>;

/// What set_texts() did: the paths of the fields, and the classes that replaced others.
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
/// Returns the report of the configs, called `what`, then the reports of the classes that replaced
/// others. Throws NoMatch if nothing is selected, ConfigError with a line for each mistake.
///
///   const auto is_wide = [](const std::string&, const AnyConfig& config) {
///     return config.get_if<Attention::Config>()->num_heads.get() > 8;
///   };
///   set_where(cfg, {.type = &typeid(Attention), .where = is_wide}, {{"@remat", "SaveDots"}});
std::vector<Rewrite> set_where(ConfigRef root, const Selector& select, const FieldTexts& fields,
                               std::string_view what = "set_where");

/// Replaces every config of a class, or of any class of a role, like replace_config. Fields with
/// the same name and type keep their values; slots keep their options. Applied twice, it finds no
/// config of the class that it has replaced.
class ReplaceClass final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role to replace.
    std::string replace = {};
    /// Name of the new class; it starts with its defaults.
    std::string with = {};
    /// Fields of the new class by path, as text: {"eps": "1e-5"}. They keep no old value.
    std::map<std::string, std::string> set = {};
    /// Pattern of the slot paths to replace at; "**": everywhere.
    std::string at = "**";
    /// Values that fields of the old config must have, by path: {"num_heads": "8"}.
    std::map<std::string, std::string> where = {};
    AXLE_CONFIG(ReplaceClass, replace, with, set, at, where)
  };
  ReplaceClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names and if the class does not fit a slot, NoMatch if nothing
  /// matches.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Wraps every config of a class, or of any class of a role, in a config of another class: RoPE
/// around every QKV. What is inside of the new class already stays as it is. So a second
/// application changes nothing.
class WrapClass final : public Modifier {
 public:
  struct Config {
    /// Name of the class or role to wrap.
    std::string wrap = {};
    /// Name of the class around it; it starts with its defaults.
    std::string with = {};
    /// Name of the slot of the new class that takes the old config.
    std::string slot = "inner";
    /// Pattern of the slot paths to wrap at; "**": everywhere.
    std::string at = "**";
    /// Values that fields of the wrapped config must have, by path: {"bias": "true"}.
    std::map<std::string, std::string> where = {};
    AXLE_CONFIG(WrapClass, wrap, with, slot, at, where)
  };
  WrapClass(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError for unknown names and if the class does not fit a slot, NoMatch if the tree
  /// has no such config, wrapped or not.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

/// Sets the option `@stats` of every layer slot whose path matches, and enables the summaries of
/// layers. Each training step then reports the statistics of the results of these layers as
/// "summary/<layer>/output/<statistic>", with a number for each layer of a loop. Parameters keep
/// their paths.
class CollectStats final : public Modifier {
 public:
  struct Config {
    /// Pattern of slot paths: "**.layer" for the layers of any stack, "**.body" for all mixers.
    std::string at = {};
    /// The statistics; empty: none any more.
    std::vector<Statistic> stats = all_statistics();
    AXLE_CONFIG(CollectStats, at, stats)
  };
  CollectStats(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no layer slot matches.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
