// Canonical text of config trees and their differences.
#pragma once

#include <optional>

#include "config/config_ref.h"

namespace axle {

/// One line of the canonical text: "model.decoder.model_dim" and "4096".
struct ConfigLine {
  std::string path, text;
  bool operator==(const ConfigLine&) const = default;
};

/// Every value of the tree in the order of declaration. Slots with a class have a line of their own
/// with its name; slot options appear only where they differ from their default.
std::vector<ConfigLine> to_lines(const ConfigView& root, std::string_view root_name = {});
/// The lines as "path: text\n".
std::string to_string(const ConfigView& root, std::string_view root_name = {});

/// One path whose text differs; none on the side that lacks the path.
struct ConfigChange {
  std::string path;
  std::optional<std::string> before, after;
};
std::vector<ConfigChange> changes(const ConfigView& before, const ConfigView& after,
                                  std::string_view root_name = {});
/// The changes as "path: before -> after\n", "path: before (gone)\n", "path: after (new)\n"; "" if
/// the trees are equal.
std::string diff(const ConfigView& before, const ConfigView& after,
                 std::string_view root_name = {});

/// True if both subtrees have the same text, hence equal values.
bool same_values(const Slot& a, const Slot& b);
/// True for an option slot ("@dtype") that is not as in a fresh Options struct of `child`, the
/// Child slot it is of.
bool is_changed_option(const Slot& child, const Slot& option);

}  // namespace axle
