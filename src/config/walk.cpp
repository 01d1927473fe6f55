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

std::string element_name(const TypeOps& ops, const Element& element, size_t index) {
  return ops.kind == FieldKind::kMap ? "['" + element.key + "']"
                                     : "[" + std::to_string(index) + "]";
}

void visit(const std::string& path, const Slot& slot, const Visit& enter, const Visit& leave) {
  if (enter) enter(path, slot);
  for (const Slot& child : children_of(slot))
    visit(join_config_path(path, child.name), child, enter, leave);
  if (leave) leave(path, slot);
}

}  // namespace

std::string join_config_path(std::string_view parent, std::string_view name) {
  std::string out(parent);
  if (!out.empty() && !name.empty() && !name.starts_with('[')) out += '.';
  return out.append(name);
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
    if (ops.kind == FieldKind::kChild)
      add_fields(ops.options_type(), ops.options(slot.at), "@", out);
  } else if (ops.elements) {
    const std::vector<Element> elements = ops.elements(slot.at);
    for (size_t i = 0; i < elements.size(); ++i) {
      out.push_back({element_name(ops, elements[i], i), elements[i].at, ops.element});
    }
  }
  return out;
}

AnyConfig* held_config(const Slot& outer) {
  const Slot slot = unwrap(outer);
  AnyConfig* held = nullptr;
  if (slot.ops->kind == FieldKind::kChild) held = &slot.ops->child(slot.at).any();
  if (slot.ops->kind == FieldKind::kFn) held = &slot.ops->fn(slot.at).functor();
  return held && *held ? held : nullptr;
}

void put_config(const Slot& outer, AnyConfig config) {
  Slot slot = unwrap(outer);
  if (slot.ops->value) slot = {slot.name, slot.ops->emplace(slot.at), slot.ops->element};
  if (slot.ops->kind == FieldKind::kChild) {
    slot.ops->child(slot.at).put_as(slot.ops->role(), std::move(config));
  } else if (slot.ops->kind == FieldKind::kFn) {
    slot.ops->fn(slot.at).put_as(*slot.ops->signature, std::move(config));
  } else {
    throw ConfigError(
        fmt::format("expected a slot for {}, got a field without a class", config.type().name));
  }
}

void check_map_key(const TypeOps& map, std::string_view key, const std::string& path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::string problem = map.key_problem ? map.key_problem(key) : "";
  if (problem.empty() && (key.empty() || key.find("']") != key.npos ||
                          std::any_of(key.begin(), key.end(), is_control)))
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

void walk(const ConfigView& root, const Visit& enter, const Visit& leave,
          std::string_view root_name) {
  visit(std::string(root_name), root.slot(), enter, leave);
}

}  // namespace axle
