// Checks and changes of recipes for the command line: completeness, modifiers by name, and rules
// for this machine.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/trainer_config.h"

namespace axle {

/// Throws ConfigError as check_complete() does. If a path of texts is missing, the message names
/// --data.
void check_recipe(const Trainer::Config& config);

/// A modifier as files and flags write it.
struct NamedModifier {
  std::string name;
  nlohmann::ordered_json fields;  // null: none are given
};
/// Reads 'Name', {Name: {field: value}} or {class: Name, field: value}; none for anything else.
std::optional<NamedModifier> named_modifier(const nlohmann::ordered_json& value);

/// True for the name of this modifier, ignoring case.
bool is_name_of(std::string_view modifier, std::string_view name);

/// Applies the modifier of this name, ignoring case, with the values of `fields`
/// for its fields and "@allow_none"; null: its defaults. Returns what it did. Throws ConfigError.
std::vector<Rewrite> apply_modifier_named(const std::string& name,
                                          const nlohmann::ordered_json& fields,
                                          Trainer::Config& config);

/// An edit that applies a modifier, as text: "SequenceParallel" or "SetRemat: {at: '**.layer'}".
struct UseModifier {
  std::string text;
  std::string flag = "--modify";  // that the text comes from, for messages

  /// Returns the modifier that the text names. Throws ConfigError if it names none.
  NamedModifier named() const;
  /// Returns what the modifier did. Throws ConfigError as named() does, too.
  std::vector<Rewrite> apply_to(Trainer::Config& config) const;
};

/// Returns the machine type of a backend's devices on this machine: "cpu-16" (cores), "gpu-H100-8",
/// "tpu-v5p-8" or "neuron-trn2.48xlarge-64". If the system does not report the type, returns the
/// backend's name with "-unknown". Loads no plugin and opens no device. Sources:
///   GPUs           the driver's table under `proc`
///   TPUs           TPU_ACCELERATOR_TYPE, which the cloud sets
///   other devices  the name of the cloud's machine, which the firmware reports under `dmi`
std::string host_machine(std::string_view backend = "cpu",
                         const std::filesystem::path& proc = "/proc",
                         const std::filesystem::path& dmi = "/sys/devices/virtual/dmi/id");

}  // namespace axle
