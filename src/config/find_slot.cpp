#include "config/find_slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "config/walk.h"

namespace axle {
namespace {

// Returns the map key that a part of a path names: k, [k], ['k'] and ["k"] are the same.
std::string map_key(std::string_view name) {
  return std::string(name.starts_with('[') ? unquoted(name.substr(1, name.size() - 2)) : name);
}

std::string name_of_key(std::string_view key) { return fmt::format("['{}']", key); }

[[noreturn]] void fail_unknown(const Slot& parent, const std::string& name,
                               const std::string& path) {
  if (parent.ops->value) {
    throw ConfigError(fmt::format("{}: expected {} to be set first, got none",
                                  join_config_path(path, name), path));
  }
  if (parent.ops->kind == FieldKind::kList) {
    throw ConfigError(fmt::format(
        "{}: no such element{}; the list has {}", join_config_path(path, name),
        is_digits(name) ? fmt::format(" (write [{}])", name) : "", children_of(parent).size()));
  }
  const bool is_option = name.starts_with('@');
  std::vector<std::string> names;
  for (const Slot& child : children_of(parent))
    if (child.name.starts_with('@') == is_option) names.push_back(child.name);
  fail_no_slot(path, name, names,
               parent.ops->kind == FieldKind::kMap ? "key"
               : is_option                         ? "option"
                                                   : "field");
}

// What a path may create: optional structs on it, and a new map element at its end.
enum class Create { kNothing, kStructs, kStructsAndElement };

Slot resolve(const ConfigView& root, std::span<const std::string> names, std::string_view root_name,
             Create create) {
  Slot slot = root.slot();
  std::string at(root_name);
  for (const std::string& each : names) {
    Slot parent = unwrap(slot);
    if (create != Create::kNothing && parent.ops->value &&
        parent.ops->element->kind == FieldKind::kStruct) {
      parent = {parent.name, parent.ops->emplace(parent.at), parent.ops->element};
    }
    const bool is_map = parent.ops->kind == FieldKind::kMap;
    const std::string name = is_map ? name_of_key(map_key(each)) : each;
    if (is_map && create == Create::kStructsAndElement && &each == &names.back()) {
      const std::string key = map_key(each);
      check_map_key(*parent.ops, key, at);
      // Also finds an element that is there, without a walk over all of them.
      slot = {name, parent.ops->insert(parent.at, key), parent.ops->element};
    } else {
      std::vector<Slot> children = children_of(parent);
      const auto found = std::ranges::find(children, name, &Slot::name);
      if (found == children.end()) fail_unknown(parent, each, at);
      slot = std::move(*found);
    }
    at = join_config_path(at, name);
  }
  return slot;
}

// Returns the length of the bracketed part at the front of `rest`; 0 if the bracket is not closed.
size_t bracket_length(std::string_view rest) {
  const bool quoted = rest.size() > 1 && (rest[1] == '\'' || rest[1] == '"');
  const std::string close = quoted ? std::string{rest[1], ']'} : "]";
  const size_t at = rest.find(close, quoted ? 2 : 1);
  return at == rest.npos ? 0 : at + close.size();
}

}  // namespace

std::string_view unquoted(std::string_view s) {
  const bool quoted =
      s.size() >= 2 && (s.front() == '\'' || s.front() == '"') && s.back() == s.front();
  return quoted ? s.substr(1, s.size() - 2) : s;
}

std::vector<std::string> split_config_path(std::string_view path) {
  std::vector<std::string> out;
  size_t i = 0;
  while (i < path.size()) {
    const std::string_view rest = path.substr(i);
    const size_t length = rest.starts_with('[') ? bracket_length(rest)
                                                : std::min(rest.find_first_of(".["), rest.size());
    const bool ends_with_dot = i + length + 1 == path.size() && path[i + length] == '.';
    if (length == 0 || ends_with_dot) {
      throw ConfigError(fmt::format(
          "{}: expected a path such as a.b[0].@option, got an empty part or an open bracket",
          printable(path)));
    }
    out.emplace_back(rest.substr(0, length));
    i += length;
    if (i < path.size() && path[i] == '.') ++i;
  }
  return out;
}

Slot find_slot(const ConfigView& root, std::string_view path, std::string_view root_name) {
  return resolve(root, split_config_path(path), root_name, Create::kNothing);
}

Slot find_or_make_slot(ConfigRef root, std::string_view path, std::string_view root_name) {
  return resolve(root, split_config_path(path), root_name, Create::kStructsAndElement);
}

int64_t whole_number(const ConfigView& root, std::string_view path) {
  try {
    const Slot slot = unwrap(find_slot(root, path));
    return slot.ops->number ? static_cast<int64_t>(slot.ops->number(slot.at)) : 0;
  } catch (const ConfigError&) {
    return 0;
  }
}

bool none_removes_entries(const TypeOps& map) {
  if (map.kind != FieldKind::kMap) return false;
  const FieldKind kind = map.element->kind;
  return kind == FieldKind::kStruct || kind == FieldKind::kChild || kind == FieldKind::kFn;
}

bool remove_entry(ConfigRef root, std::string_view path, std::string_view root_name) {
  const std::vector<std::string> names = split_config_path(path);
  if (names.size() < 2) return false;
  const std::span above = std::span(names).first(names.size() - 1);
  const Slot map = unwrap(resolve(root, above, root_name, Create::kStructs));
  if (!none_removes_entries(*map.ops)) return false;
  if (!map.ops->erase(map.at, map_key(names.back()))) {
    std::string_view parent = path.substr(0, path.rfind(names.back()));
    if (parent.ends_with('.')) parent.remove_suffix(1);
    fail_unknown(map, names.back(), join_config_path(root_name, parent));
  }
  return true;
}

}  // namespace axle
