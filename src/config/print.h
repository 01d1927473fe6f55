// The canonical text of config trees, and the differences between two trees.
#pragma once

#include <optional>

#include "config/walk.h"

namespace axle {

/// One line of the canonical text: "model.decoder.model_dim" and "4096".
struct ConfigLine {
  std::string path, text;
  bool keeps_results = false;  // it is within such a field (config_type.h)
  bool operator==(const ConfigLine&) const = default;
};

/// Returns every value of the tree in order of declaration. A slot that holds a class has a line of
/// its own with the name of the class. Slot options appear only if they differ from their default.
std::vector<ConfigLine> to_lines(const Slot& root, std::string_view root_name = {});
/// Returns the lines as "path: text\n".
std::string to_string(const Slot& root, std::string_view root_name = {});

/// A path whose text differs. `before` or `after` is none if that tree lacks the path.
struct ConfigChange {
  std::string path;
  std::optional<std::string> before, after;
  bool keeps_results = false;  // as of the line
};
std::vector<ConfigChange> changes(const Slot& before, const Slot& after,
                                  std::string_view root_name = {});
/// Returns one line for each change: "path: before -> after\n", "path: before (gone)\n" or "path:
/// after (new)\n".
std::string to_text(const std::vector<ConfigChange>& changes);
/// Returns the text of changes(); "" if the trees are equal.
std::string diff(const Slot& before, const Slot& after, std::string_view root_name = {});

/// True if both subtrees have the same text, hence equal values.
bool same_values(const Slot& a, const Slot& b);
/// Returns the children of a slot that texts show: without options of the default value.
std::vector<Slot> shown_children(const Slot& slot);

}  // namespace axle
