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
auto at_path(const std::string& path, F f) {
  try {
    return f();
  } catch (const ConfigError& e) {
    fail_at(path, e.what());
  }
}

bool is_number(const Json& d) {
  return d.is_number() || (d.is_string() && detail::is_number(d.get_ref<const std::string&>()));
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
        return at_path(path, [&] { ops.read(ops, slot.at, d); });
      case FieldKind::kStruct:
        if (const auto& field = ops.config_type().number_field; !field.empty() && is_number(d))
          return read_member(slot, std::string(field), d, path, "field");
        if (!d.is_object()) fail_expected(path, "a mapping of fields", d);
        return read_members(d, slot, path, "field", [](const std::string&) { return true; });
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
    for (const auto& [name, value] : d.items()) {
      const std::string& key = name;
      const Json& entry = value;
      const std::string entry_path = fmt::format("{}['{}']", path, key);
      mistakes_.attempt([&] {
        if (!entry.is_null() || !none_removes_entries(*slot.ops)) {
          check_map_key(*slot.ops, key, path);
          read(entry, {key, slot.ops->insert(slot.at, key), slot.ops->element}, entry_path);
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

  // Reads one field or, with '@' before its name, one option of `parent`.
  void read_member(const Slot& parent, const std::string& key, const Json& value,
                   const std::string& path, std::string_view what) {
    std::vector<std::string> names;
    for (const Slot& slot : children_of(parent)) {
      if (slot.name == key) return read(value, slot, join_config_path(path, key));
      if (slot.name.starts_with('@') == (what == "option")) names.push_back(slot.name);
    }
    fail_no_slot(path, key, names, what);
  }
  template <class Wanted>
  void read_members(const Json& d, const Slot& parent, const std::string& path,
                    std::string_view what, Wanted is_wanted) {
    for (const auto& entry : d.items()) {
      if (is_wanted(entry.key()))
        mistakes_.attempt([&] { read_member(parent, entry.key(), entry.value(), path, what); });
    }
  }

  void read_class(const Json& d, const Slot& slot, const std::string& path) {
    const TypeOps& ops = *slot.ops;
    ClassSlot& target = ops.held(slot.at);
    if (d.is_null()) return target.clear();
    if (const std::optional<Json> named = with_class(d, path))
      return read_class(*named, slot, path);
    const AnyConfig* const held = held_config(slot);
    if (is_number(d)) {
      if (const ConfigType* const type = find_number_type(*ops.interface)) {
        AnyConfig next = held && &held->type() == type ? *held : AnyConfig::with_defaults(*type);
        read_member(ConfigView(next).slot(), std::string(type->number_field), d, path, "field");
        return target.put_as(*ops.interface, std::move(next));
      }
    }
    if (!d.is_string() && !d.is_object())
      fail_expected(path, "the name of a class or a mapping with 'class'", d);
    const bool is_name = d.is_string(), names_class = is_name || d.contains("class");
    if (!names_class && !held) fail_expected(path, "a mapping with 'class'", d);
    const ConfigType* type = held ? &held->type() : nullptr;
    if (names_class) {
      const Json& name = is_name ? d : d.at("class");
      if (!name.is_string()) fail_expected(join_config_path(path, "class"), "a name", name);
      const auto& text = name.get_ref<const std::string&>();
      const AnyFunction function = is_name ? find_function(*ops.interface, text) : nullptr;
      if (function) return target.put_as(text, function);
      type = find_config_type(*ops.interface, text);
      if (!type)
        at_path(path,
                [&] { fail_no_class(*ops.interface, ops.role ? &ops.role() : nullptr, text); });
    }
    const bool keeps = held && (is_name || !names_class) && &held->type() == type;
    AnyConfig next = keeps ? *held : AnyConfig::with_defaults(*type);
    const auto is_option = [&](const std::string& key) {
      return ops.options && key.starts_with('@');
    };
    const auto is_field = [&](const std::string& key) { return key != "class" && !is_option(key); };
    if (!is_name) read_members(d, ConfigView(next).slot(), path, "field", is_field);
    if (held && is_name) note_kept(*held, next, path);
    target.put_as(*ops.interface, std::move(next));
    if (names_class && !is_name && ops.options && unnamed_ == UnnamedValues::kReset) {
      const AnyConfig defaults = AnyConfig::with_defaults(ops.options_type());
      defaults.type().ops->assign(ops.options(slot.at), defaults.get());
    }
    if (!is_name) read_members(d, slot, path, "option", is_option);
  }

  // Notes the fields that a class named without fields takes over.
  void note_kept(const AnyConfig& held, const AnyConfig& next, const std::string& path) {
    RewriteReport report;
    if (&held.type() == &next.type()) {
      report.unchanged = {path};
    } else {
      report.matched = {path};
      report.add(path, carry_over(held, next, {}));
    }
    rewrites_.push_back(
        {fmt::format("{} -> {}", held.type().name, next.type().name), std::move(report)});
  }

  UnnamedValues unnamed_;
  std::vector<Rewrite> rewrites_;
  Mistakes mistakes_;
};

// Returns the type of a field, without the optional or Required around it.
const TypeOps& inner_type(const Slot& slot) {
  const TypeOps* inner = slot.ops;
  while (inner->value) inner = inner->element;
  return *inner;
}

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
  if (text == "none" && remove_entry(root, path, root_name)) return {};
  const Slot slot = find_or_make_slot(root, path, root_name);
  const std::string full = join_config_path(root_name, path);
  return read_document(document_of_text(slot, text, full), slot, full, UnnamedValues::kKeep);
}

std::vector<Rewrite> set_value(ConfigRef root, std::string_view path, const Json& value,
                               std::string_view root_name) {
  if (value.is_null() && remove_entry(root, path, root_name)) return {};
  const Slot slot = find_or_make_slot(root, path, root_name);
  const std::string full = join_config_path(root_name, path);
  const auto* const text = value.get_ptr<const std::string*>();
  // The document has the text of a leaf already, without its quotes; "none" in quotes is a text.
  const bool is_read =
      text && *text != "none" && (inner_type(slot).kind != FieldKind::kLeaf || clears(slot, *text));
  return read_document(is_read ? document_of_text(slot, *text, full) : value, slot, full,
                       UnnamedValues::kKeep);
}

}  // namespace axle
