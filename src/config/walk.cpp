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

// Returns the name that a field or option of a slot has now.
std::string present_name(const Slot& slot, std::string_view name) {
  const ConfigType* const type = type_below(slot);
  if (!type) return std::string(name);
  if (!name.starts_with('@')) return std::string(type->present_name(name));
  const auto options_type = unwrap(slot).ops->options_type;
  name.remove_prefix(1);
  return fmt::format("@{}", options_type ? options_type().present_name(name) : name);
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

std::string map_key(std::string_view name) {
  return std::string(name.starts_with('[') ? unquoted(name.substr(1, name.size() - 2)) : name);
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

Slot made(Slot slot) {
  while ((slot = unwrap(std::move(slot))).ops->value) slot.ops->emplace(slot.at);
  return slot;
}

const TypeOps& inner_type(const Slot& slot) {
  const TypeOps* inner = slot.ops;
  while (inner->value) inner = inner->element;
  return *inner;
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
    out = ops.elements(slot.at);
  }
  return out;
}

bool is_unset(const Slot& outer) {
  const Slot slot = unwrap(outer);
  return slot.ops->held ? !slot.ops->held(slot.at) : slot.ops->value != nullptr;
}

AnyConfig* held_config(const Slot& outer) {
  const Slot slot = unwrap(outer);
  AnyConfig* const held = slot.ops->held ? &slot.ops->held(slot.at) : nullptr;
  return held && *held && !held->type().function ? held : nullptr;
}

const ConfigType* type_below(const Slot& slot) {
  if (const AnyConfig* const held = held_config(slot)) return &held->type();
  const TypeOps& ops = *unwrap(slot).ops;
  return ops.config_type ? &ops.config_type() : nullptr;
}

void put_config(const Slot& outer, AnyConfig config) {
  const Slot slot = made(outer);
  if (!slot.ops->held) {
    throw ConfigError(
        fmt::format("expected a slot for {}, got a field without a class", config.type().name));
  }
  slot.ops->held(slot.at).put_as(*slot.ops->interface, std::move(config));
}

void walk(const Slot& root, const Visit& enter, const Visit& leave, std::string_view root_name) {
  const std::string path(root_name);
  if (enter) enter(path, root);
  for (const Slot& child : children_of(root))
    walk(child, enter, leave, join_config_path(path, child.name));
  if (leave) leave(path, root);
}

void fail_no_slot(const std::string& path, std::string_view name,
                  const std::vector<std::string>& names, std::string_view what) {
  const std::string choice =
      names.empty() ? "; it has none" : fmt::format(" ({}s: {})", what, join(names, ", "));
  throw ConfigError(fmt::format("{}: no such {}{}{}", printable(join_config_path(path, name), 200),
                                what, suggest(name, names), choice));
}

Slot child_of(const Slot& parent, std::string_view name, const std::string& path) {
  const TypeOps& ops = *parent.ops;
  const std::string wanted = ops.kind == FieldKind::kMap ? detail::name_of_entry(map_key(name))
                                                         : present_name(parent, name);
  std::vector<Slot> children = children_of(parent);
  const auto found = std::ranges::find(children, wanted, &Slot::name);
  if (found != children.end()) return std::move(*found);
  const std::string at = join_config_path(path, name);
  if (ops.value)
    throw ConfigError(fmt::format("{}: expected {} to be set first, got none", at, path));
  if (ops.kind == FieldKind::kList) {
    throw ConfigError(fmt::format("{}: no such element{}; the list has {}", at,
                                  is_digits(name) ? fmt::format(" (write [{}])", name) : "",
                                  children.size()));
  }
  const bool is_option = ops.options && name.starts_with('@');
  std::vector<std::string> names;
  for (const Slot& child : children)
    if (child.name.starts_with('@') == is_option) names.push_back(child.name);
  fail_no_slot(path, name, names,
               ops.kind == FieldKind::kMap ? "key"
               : is_option                 ? "option"
                                           : "field");
}

Slot find_slot(const Slot& root, std::string_view path, std::string_view root_name) {
  Slot slot = root;
  std::string at(root_name);
  for (const std::string& name : split_config_path(path)) {
    slot = child_of(unwrap(slot), name, at);
    at = join_config_path(at, slot.name);
  }
  return slot;
}

int64_t whole_number(const Slot& root, std::string_view path) {
  try {
    const Slot slot = unwrap(find_slot(root, path));
    return slot.ops->number ? static_cast<int64_t>(slot.ops->number(slot.at)) : 0;
  } catch (const ConfigError&) {
    return 0;
  }
}

}  // namespace axle
