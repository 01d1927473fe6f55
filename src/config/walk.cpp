#include "config/walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

void add_fields(const ConfigType& type, void* at, std::string_view sign, std::vector<Slot>& out) {
  for (const Field& f : type.fields) {
    out.push_back({std::string(sign) + std::string(f.name), static_cast<char*>(at) + f.offset,
                   f.ops, f.keeps_results});
  }
}

void visit(const std::string& path, const Slot& slot, const Visit& enter, const Visit& leave) {
  if (enter) enter(path, slot);
  for (const Slot& child : children_of(slot))
    visit(join_config_path(path, child.name), child, enter, leave);
  if (leave) leave(path, slot);
}

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

std::string join_config_path(std::string_view parent, std::string_view name) {
  std::string out(parent);
  if (!out.empty() && !name.empty() && !name.starts_with('[')) out += '.';
  return out.append(name);
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

std::string_view first_name(std::string_view path) {
  return path.substr(0, path.find_first_of(".["));
}

std::string_view unquoted(std::string_view s) {
  const bool quoted =
      s.size() >= 2 && (s.front() == '\'' || s.front() == '"') && s.back() == s.front();
  return quoted ? s.substr(1, s.size() - 2) : s;
}

Slot unwrap(Slot slot) {
  while (slot.ops->value) {
    void* const inside = slot.ops->value(slot.at);
    if (!inside) break;
    slot = {std::move(slot.name), inside, slot.ops->element, slot.keeps_results};
  }
  return slot;
}

std::vector<Slot> children_of(const Slot& outer) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  std::vector<Slot> out;
  if (ops.kind == FieldKind::kStruct) {
    add_fields(ops.config_type(), slot.at, "", out);
  } else if (const AnyConfig* held = held_config(slot)) {
    add_fields(held->type(), held->get(), "", out);
    if (ops.options) add_fields(ops.options_type(), ops.options(slot.at), "@", out);
  } else if (ops.elements) {
    for (const Element& element : ops.elements(slot.at)) {
      out.push_back(
          {ops.kind == FieldKind::kMap ? name_of_key(element.key) : fmt::format("[{}]", out.size()),
           element.at, ops.element});
    }
  }
  return out;
}

AnyConfig* held_config(const Slot& outer) {
  const Slot slot = unwrap(outer);
  AnyConfig* const held = slot.ops->held ? &slot.ops->held(slot.at).any() : nullptr;
  return held && *held ? held : nullptr;
}

const ConfigType* type_below(const Slot& slot) {
  if (const AnyConfig* const held = held_config(slot)) return &held->type();
  const TypeOps& ops = *unwrap(slot).ops;
  return ops.config_type ? &ops.config_type() : nullptr;
}

void put_config(const Slot& outer, AnyConfig config) {
  Slot slot = unwrap(outer);
  if (slot.ops->value) slot = {slot.name, slot.ops->emplace(slot.at), slot.ops->element};
  if (!slot.ops->held) {
    throw ConfigError(
        fmt::format("expected a slot for {}, got a field without a class", config.type().name));
  }
  slot.ops->held(slot.at).put_as(*slot.ops->interface, std::move(config));
}

void walk(const ConfigView& root, const Visit& enter, const Visit& leave,
          std::string_view root_name) {
  visit(std::string(root_name), root.slot(), enter, leave);
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
  return map.kind == FieldKind::kMap && (map.element->held || map.element->config_type);
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

void check_map_key(const TypeOps& map, std::string_view key, const std::string& path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::string problem = map.key_problem ? map.key_problem(key) : "";
  if (problem.empty() &&
      (key.empty() || key.find("']") != key.npos || std::ranges::any_of(key, is_control)))
    problem = fmt::format("expected a key that can stand in a path, got '{}'", printable(key));
  if (!problem.empty()) throw ConfigError(path + ": " + problem);
}

void fail_no_slot(const std::string& path, std::string_view name,
                  const std::vector<std::string>& names, std::string_view what) {
  const std::string choice =
      names.empty() ? "; it has none" : fmt::format(" ({}s: {})", what, join(names, ", "));
  throw ConfigError(fmt::format("{}: no such {}{}{}", printable(join_config_path(path, name), 200),
                                what, suggest(name, names), choice));
}

}  // namespace axle
