#include "config/set.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/mistakes.h"
#include "base/text/unicode.h"
#include "base/text/yaml.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail_at(const std::string& path, std::string_view message) {
  throw ConfigError(fmt::format("{}{}{}", path, path.empty() ? "" : ": ", message));
}
[[noreturn]] void fail_expected(const std::string& path, std::string_view expected,
                                const Json& got) {
  fail_at(path, fmt::format("expected {}, got {}", expected,
                            got.is_null() ? "none" : printable(got.dump())));
}
template <class F>
decltype(auto) at_path(const std::string& path, F f) {
  try {
    return f();
  } catch (const ConfigError& e) {
    fail_at(path, e.what());
  }
}

bool is_number(const Json& d) {
  return d.is_number() || (d.is_string() && is_number_text(d.get_ref<const std::string&>()));
}

// Returns {class: Name, field: value} for {Name: {field: value}}, as the section `modify:` has it.
// Names of fields are small.
std::optional<Json> with_class(const Json& d, const std::string& path) {
  if (!d.is_object() || d.size() != 1) return {};
  const std::string& name = d.begin().key();
  if (name.empty() || name[0] < 'A' || name[0] > 'Z') return {};
  const Json& fields = d.begin().value();
  if (!fields.is_null() && !fields.is_object())
    fail_expected(join_config_path(path, name), "a mapping of fields", fields);
  Json out = {{"class", name}};
  for (const auto& [field, value] : fields.items()) out[field] = value;
  return out;
}

// True for a map whose entries `none` removes: those of structs, classes and functions. Other
// entries may hold `none` themselves.
bool none_removes_entries(const TypeOps& map) {
  return map.kind == FieldKind::kMap && (map.element->held || map.element->config_type);
}

// Throws ConfigError if a key is empty, holds control characters or "']" (the end of a key in
// paths), or breaks the rule of the map's type.
void check_map_key(const TypeOps& map, std::string_view key, const std::string& path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::string problem = map.key_problem ? map.key_problem(key) : "";
  if (problem.empty() &&
      (key.empty() || key.find("']") != key.npos || std::ranges::any_of(key, is_control)))
    problem = fmt::format("expected a key that can stand in a path, got '{}'", printable(key));
  if (!problem.empty()) throw ConfigError(path + ": " + problem);
}

class Reader {
 public:
  explicit Reader(UnnamedValues unnamed) : unnamed_(unnamed) {}

  // Reads everything that is right, then throws one ConfigError with everything that is wrong.
  std::vector<Rewrite> read_all(const Json& d, const Slot& slot, const std::string& path) {
    mistakes_.attempt([&] { read(d, slot, path); });
    mistakes_.throw_any();
    return std::move(rewrites_);
  }

 private:
  void read(const Json& d, const Slot& slot, const std::string& path) {
    const TypeOps& ops = *slot.ops;
    switch (ops.kind) {
      case FieldKind::kOptional:
      case FieldKind::kRequired:
        return read_maybe(d, slot, path);
      case FieldKind::kLeaf:
        return at_path(path, [&] { ops.read(slot.at, d); });
      case FieldKind::kStruct:
        if (const auto& field = ops.config_type().number_field; !field.empty() && is_number(d))
          return read_member(slot, field, d, path);
        if (!d.is_object()) fail_expected(path, "a mapping of fields", d);
        return read_members(d, slot, path);
      case FieldKind::kChild:
      case FieldKind::kFn:
        return read_class(d, slot, path);
      case FieldKind::kList:
        return read_list(d, slot, path);
      case FieldKind::kMap:
        return read_map(d, slot, path);
    }
  }

  void read_maybe(const Json& d, const Slot& slot, const std::string& path) {
    if (d.is_null()) return slot.ops->clear(slot.at);
    void* inside = slot.ops->value(slot.at);
    const bool was_empty = !inside;
    if (was_empty) inside = slot.ops->emplace(slot.at);
    const size_t num_before = mistakes_.size();
    mistakes_.attempt([&] { read(d, {slot.name, inside, slot.ops->element}, path); });
    if (was_empty && mistakes_.size() > num_before) slot.ops->clear(slot.at);
  }

  void read_list(const Json& d, const Slot& slot, const std::string& path) {
    if (!d.is_array()) fail_expected(path, "a list", d);
    check_size(d, path);
    slot.ops->clear(slot.at);
    for (size_t i = 0; i < d.size(); ++i) slot.ops->insert(slot.at, {});
    const size_t num_before = mistakes_.size();
    size_t i = 0;
    for (const Slot& element : children_of(slot))
      mistakes_.attempt([&] { read(d[i++], element, path + element.name); });
    // A class that is not known leaves a hole, which would count as a field that is not set.
    if (slot.ops->element->held && mistakes_.size() > num_before) slot.ops->clear(slot.at);
  }

  // Entries that the mapping does not name stay; an empty mapping removes all.
  void read_map(const Json& d, const Slot& slot, const std::string& path) {
    if (!d.is_object()) fail_expected(path, "a mapping", d);
    check_size(d, path);
    if (unnamed_ == UnnamedValues::kReset || d.empty()) slot.ops->clear(slot.at);
    for (const auto& each : d.items()) {
      const std::string& key = each.key();
      const std::string entry_path = fmt::format("{}['{}']", path, key);
      mistakes_.attempt([&] {
        if (!each.value().is_null() || !none_removes_entries(*slot.ops)) {
          check_map_key(*slot.ops, key, path);
          read(each.value(), {key, slot.ops->insert(slot.at, key), slot.ops->element}, entry_path);
        } else if (!slot.ops->erase(slot.at, key)) {
          fail_at(entry_path, "expected an entry to remove, got none");
        }
      });
    }
  }

  static void check_size(const Json& d, const std::string& path) {
    if (d.size() > kMaxConfigEntries)
      fail_at(path,
              fmt::format("expected at most {} entries, got {}", kMaxConfigEntries, d.size()));
  }

  void read_member(const Slot& parent, std::string_view key, const Json& value,
                   const std::string& path) {
    read(value, child_of(parent, key, path), join_config_path(path, key));
  }
  // Reads the fields of a struct or class, and the options of its slot.
  void read_members(const Json& d, const Slot& parent, const std::string& path) {
    for (const auto& each : d.items()) {
      if (!parent.ops->held || each.key() != "class")
        mistakes_.attempt([&] { read_member(parent, each.key(), each.value(), path); });
    }
  }

  void read_class(const Json& d, const Slot& slot, const std::string& path) {
    const TypeOps& ops = *slot.ops;
    AnyConfig& target = ops.held(slot.at);
    if (d.is_null()) return target.clear();
    if (const std::optional<Json> named = with_class(d, path))
      return read_class(*named, slot, path);
    const AnyConfig* const held = held_config(slot);
    const ConfigType* const number = is_number(d) ? find_number_type(*ops.interface) : nullptr;
    if (number) {
      AnyConfig next = held && &held->type() == number ? *held : AnyConfig::with_defaults(*number);
      read_member(next, number->number_field, d, path);
      target = std::move(next);
    } else if (d.is_string()) {
      target = class_by_name(d, ops, held, path);
    } else {
      if (!d.is_object()) fail_expected(path, "the name of a class or a mapping with 'class'", d);
      if (const auto name = d.find("class"); name != d.end()) {
        if (!name->is_string()) fail_expected(join_config_path(path, "class"), "a name", *name);
        target = AnyConfig::with_defaults(type_named(*name, ops, path));
        if (ops.options && unnamed_ == UnnamedValues::kReset) {
          const AnyConfig defaults = AnyConfig::with_defaults(ops.options_type());
          defaults.type().ops->assign(ops.options(slot.at), defaults.get());
        }
      } else if (!held) {
        fail_expected(path, "a mapping with 'class'", d);
      }
      read_members(d, slot, path);
    }
  }

  static const ConfigType& type_named(const Json& name, const TypeOps& ops,
                                      const std::string& path) {
    return at_path(path, [&]() -> const ConfigType& {
      return find_config_type(*ops.interface, name.get_ref<const std::string&>());
    });
  }

  // Returns what a class named without fields takes over from the one before, and notes it.
  AnyConfig class_by_name(const Json& name, const TypeOps& ops, const AnyConfig* held,
                          const std::string& path) {
    const ConfigType& type = type_named(name, ops, path);
    AnyConfig next = AnyConfig::with_defaults(type);
    if (!held || type.function) return next;
    Rewrite done{fmt::format("{} -> {}", held->type().name, type.name), {}};
    if (&held->type() == &type) {
      next = *held;
      done.report.unchanged = {path};
    } else {
      done.report.matched = {path};
      done.report.add(path, carry_over(*held, next, {}));
    }
    rewrites_.push_back(std::move(done));
    return next;
  }

  UnnamedValues unnamed_;
  std::vector<Rewrite> rewrites_;
  Mistakes mistakes_;
};

bool clears(const Slot& slot, std::string_view text) {
  return (slot.ops->kind == FieldKind::kOptional && text == "none") ||
         (slot.ops->kind == FieldKind::kRequired && text == "REQUIRED");
}

Json document_of_text(const Slot& slot, std::string_view text, const std::string& path) {
  if (clears(slot, text)) return nullptr;
  const TypeOps& inner = inner_type(slot);
  if (inner.kind == FieldKind::kLeaf) {
    const bool is_quoted_nothing = text == "''" || text == "\"\"";
    return std::string(inner.leaf == LeafKind::kString || is_quoted_nothing ? unquoted(text)
                                                                            : text);
  }
  if (inner.held && !text.starts_with('{')) return std::string(text);
  Json document = parse_yaml(text, path);
  // Only the text `none` stands for nothing. Other texts that YAML reads as null (`null`, `~`, an
  // empty text, only a comment) are mistakes.
  return document.is_null() ? Json(text) : document;
}

// Returns the slot at a path. Creates the optional structs on it, and the entry of a map at its
// end. Where `none` removes that entry, removes it and returns nothing.
std::optional<Slot> slot_to_set(const Slot& root, std::string_view path, std::string_view root_name,
                                bool is_none) {
  const std::vector<std::string> names = split_config_path(path);
  Slot slot = root;
  std::string at(root_name);
  for (const std::string& name : names) {
    Slot parent = unwrap(slot);
    if (inner_type(parent).kind == FieldKind::kStruct) parent = made(parent);
    const TypeOps& ops = *parent.ops;
    if (ops.kind == FieldKind::kMap && &name == &names.back()) {
      const std::string key = map_key(name);
      if (is_none && none_removes_entries(ops)) {
        child_of(parent, name, at);  // throws if there is none
        ops.erase(parent.at, key);
        return {};
      }
      check_map_key(ops, key, at);
      // Also finds an element that is there, without a walk over all of them.
      return Slot(name, ops.insert(parent.at, key), ops.element);
    }
    slot = child_of(parent, name, at);
    at = join_config_path(at, slot.name);
  }
  return slot;
}

std::vector<Rewrite> set_field(ConfigRef root, std::string_view path, std::string_view root_name,
                               bool is_none,
                               const std::function<Json(const Slot&, const std::string&)>& value) {
  const std::optional<Slot> slot = slot_to_set(root, path, root_name, is_none);
  if (!slot) return {};
  const std::string full = join_config_path(root_name, path);
  return read_document(value(*slot, full), *slot, full, UnnamedValues::kKeep);
}

}  // namespace

std::vector<Rewrite> read_document(const Json& document, const Slot& slot, const std::string& path,
                                   UnnamedValues unnamed) {
  return Reader(unnamed).read_all(document, slot, path);
}

std::vector<Rewrite> set(ConfigRef root, std::string_view path, std::string_view text,
                         std::string_view root_name) {
  if (find_invalid_utf8(path)) {
    throw ConfigError(
        fmt::format("expected the name of a field in UTF-8, got '{}'", printable(path)));
  }
  if (find_invalid_utf8(text)) {
    throw ConfigError(
        fmt::format("{}: expected UTF-8, got '{}'", printable(path), printable(text)));
  }
  return set_field(root, path, root_name, text == "none",
                   [&](const Slot& slot, const std::string& full) {
                     return document_of_text(slot, text, full);
                   });
}

std::vector<Rewrite> set_value(ConfigRef root, std::string_view path, const Json& value,
                               std::string_view root_name) {
  const auto* const text = value.get_ptr<const std::string*>();
  return set_field(
      root, path, root_name, value.is_null(), [&](const Slot& slot, const std::string& full) {
        // The document has the text of a leaf already, without its quotes; "none" in quotes is a
        // text.
        const bool is_read = text && *text != "none" &&
                             (inner_type(slot).kind != FieldKind::kLeaf || clears(slot, *text));
        return is_read ? document_of_text(slot, *text, full) : value;
      });
}

}  // namespace axle
