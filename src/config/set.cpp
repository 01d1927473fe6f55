#include "config/set.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/utf8.h"
#include "config/carry.h"
#include "config/document/codec.h"
#include "config/document/yaml.h"
#include "config/find_slot.h"
#include "config/mistakes.h"
#include "config/registry.h"
#include "config/walk.h"

namespace axle {
namespace {

using Document = nlohmann::ordered_json;

[[noreturn]] void fail_to_set(const std::string& path, const std::string& message) {
  throw ConfigError(path.empty() ? message : path + ": " + message);
}
[[noreturn]] void fail_expected(const std::string& path, std::string_view expected,
                                const Document& got) {
  fail_to_set(path, fmt::format("expected {}, got {}", expected,
                                got.is_null() ? "none" : printable(got.dump())));
}
void check_size(const Document& d, const std::string& path) {
  if (d.size() > kMaxConfigEntries)
    fail_to_set(path,
                fmt::format("expected at most {} entries, got {}", kMaxConfigEntries, d.size()));
}
template <class F>
auto at_path(const std::string& path, F f) {
  try {
    return f();
  } catch (const ConfigError& e) {
    fail_to_set(path, e.what());
  }
}

// Returns a list as text, "[None, [expert, fsdp], model]", for a type that parses such text itself.
std::string flow_text(const Document& d) {
  if (d.is_null()) return "none";
  if (!d.is_array()) return d.is_string() ? d.get<std::string>() : d.dump();
  std::string out = "[";
  for (const Document& element : d) out += (out.size() > 1 ? ", " : "") + flow_text(element);
  return out + "]";
}

// True for {Name: {field: value}}, as the section `modify:` has it. Names of fields are small.
bool is_named_class(const Document& d) {
  return d.is_object() && d.size() == 1 && !d.begin().key().empty() && d.begin().key()[0] >= 'A' &&
         d.begin().key()[0] <= 'Z';
}

// Returns {class: Name, field: value}.
Document with_class(const Document& d, const std::string& path) {
  const std::string& name = d.begin().key();
  const Document& fields = d.begin().value();
  if (!fields.is_null() && !fields.is_object())
    fail_expected(join_config_path(path, name), "a mapping of fields", fields);
  Document out = {{"class", name}};
  if (fields.is_object()) {
    for (const auto& [field, value] : fields.items()) out[field] = value;
  }
  return out;
}

std::string leaf_text(const Document& d, LeafKind kind, const std::string& path) {
  constexpr std::string_view kExpected[] = {"true or false", "an integer", "a number", "a string",
                                            "text"};
  const std::string_view expected = kExpected[static_cast<size_t>(kind)];
  if (kind == LeafKind::kText && !d.is_object()) return flow_text(d);
  if (d.is_string()) return d.get<std::string>();
  if (d.is_null() && kind == LeafKind::kString)
    fail_to_set(path, "expected a string, got none; a string 'none' needs quotes");
  if (d.is_structured() || d.is_null() || kind == LeafKind::kString)
    fail_expected(path, expected, d);
  return d.dump();
}

// Returns the text of a number, quoted or not; none for anything else.
std::optional<std::string> number_text(const Document& d) {
  if (d.is_number()) return d.dump();
  if (!d.is_string() || !detail::is_number(d.get_ref<const std::string&>())) return {};
  return d.get<std::string>();
}

class Reader {
 public:
  explicit Reader(UnnamedValues unnamed) : unnamed_(unnamed) {}

  // Reads everything that is right, then throws one ConfigError with everything that is wrong.
  std::vector<Rewrite> read_all(const Document& d, const Slot& slot, const std::string& path) {
    mistakes_.attempt([&] { read(d, slot, path); });
    mistakes_.throw_any();
    return std::move(rewrites_);
  }

 private:
  void read(const Document& d, const Slot& slot, const std::string& path) {
    switch (slot.ops->kind) {
      case FieldKind::kOptional:
      case FieldKind::kRequired:
        return read_maybe(d, slot, path);
      case FieldKind::kLeaf: {
        const std::string text = leaf_text(d, slot.ops->leaf, path);
        return at_path(path, [&] { slot.ops->parse(slot.at, text); });
      }
      case FieldKind::kStruct:
        if (const auto& field = slot.ops->config_type().number_field;
            !field.empty() && number_text(d))
          return read_member(slot, std::string(field), d, path, "field");
        if (!d.is_object()) fail_expected(path, "a mapping of fields", d);
        for (const auto& entry : d.items()) {
          mistakes_.attempt([&] { read_member(slot, entry.key(), entry.value(), path, "field"); });
        }
        return;
      case FieldKind::kChild:
      case FieldKind::kFn:
        return read_class(d, slot, path);
      case FieldKind::kList:
        if (!d.is_array()) fail_expected(path, "a list", d);
        check_size(d, path);
        slot.ops->clear(slot.at);
        for (size_t i = 0; i < d.size(); ++i) slot.ops->insert(slot.at, {});
        return read_elements(d, slot, path);
      case FieldKind::kMap:
        if (!d.is_object()) fail_expected(path, "a mapping", d);
        check_size(d, path);
        // Entries that the mapping does not name stay; an empty mapping removes all.
        if (unnamed_ == UnnamedValues::kReset || d.empty()) slot.ops->clear(slot.at);
        for (const auto& entry : d.items()) {
          const std::string& key = entry.key();
          const Document& value = entry.value();
          mistakes_.attempt([&] {
            if (value.is_null() && none_removes_entries(*slot.ops)) {
              if (!slot.ops->erase(slot.at, key))
                fail_to_set(path + "['" + key + "']", "expected an entry to remove, got none");
              return;
            }
            check_map_key(*slot.ops, key, path);
            read(value, {key, slot.ops->insert(slot.at, key), slot.ops->element},
                 path + "['" + key + "']");
          });
        }
        return;
    }
  }

  void read_maybe(const Document& d, const Slot& slot, const std::string& path) {
    if (d.is_null()) return slot.ops->clear(slot.at);
    void* inside = slot.ops->value(slot.at);
    const bool was_empty = !inside;
    if (was_empty) inside = slot.ops->emplace(slot.at);
    const size_t num_before = mistakes_.size();
    mistakes_.attempt([&] { read(d, {slot.name, inside, slot.ops->element}, path); });
    if (was_empty && mistakes_.size() > num_before) slot.ops->clear(slot.at);
  }

  void read_elements(const Document& d, const Slot& slot, const std::string& path) {
    const std::vector<Slot> elements = children_of(slot);
    const size_t num_before = mistakes_.size();
    for (size_t i = 0; i < elements.size(); ++i)
      mistakes_.attempt([&] { read(d[i], elements[i], path + elements[i].name); });
    // A class that is not known leaves a hole, which would count as a field that is not set.
    const FieldKind kind = slot.ops->element->kind;
    const bool holds_classes = kind == FieldKind::kChild || kind == FieldKind::kFn;
    if (holds_classes && mistakes_.size() > num_before) slot.ops->clear(slot.at);
  }

  // Reads one field or, with '@' before its name, one option of `parent`.
  void read_member(const Slot& parent, const std::string& key, const Document& value,
                   const std::string& path, std::string_view what) {
    std::vector<std::string> names;
    for (const Slot& slot : children_of(parent)) {
      if (slot.name == key) return read(value, slot, join_config_path(path, key));
      if (slot.name.starts_with('@') == (what == "option")) names.push_back(slot.name);
    }
    fail_no_slot(path, key, names, what);
  }

  // Puts the class that stands for numbers into the slot, with this number in its field. Returns
  // false if there is no such class.
  bool read_number(const Document& d, const Slot& slot, const std::string& path) {
    const bool is_child = slot.ops->kind == FieldKind::kChild;
    if (!number_text(d)) return false;
    const ConfigType* type =
        find_number_type(is_child ? *slot.ops->role().type : *slot.ops->signature);
    if (!type) return false;
    const AnyConfig* const held = held_config(slot);
    AnyConfig next = held && &held->type() == type ? *held : AnyConfig::with_defaults(*type);
    read_member(ConfigView(next).slot(), std::string(type->number_field), d, path, "field");
    put_config(slot, std::move(next));
    return true;
  }

  // Notes the fields that a class named without fields takes over.
  void note_kept(const AnyConfig& held, const AnyConfig& next, const std::string& path) {
    RewriteReport report;
    if (&held.type() == &next.type()) {
      report.unchanged = {path};
    } else {
      report.matched = {path};
      const Carried fields = carry_over(held, next, {});
      for (const std::string& f : fields.carried)
        report.carried.push_back(join_config_path(path, f));
      for (const std::string& f : fields.dropped)
        report.dropped.push_back(join_config_path(path, f));
    }
    rewrites_.push_back(
        {fmt::format("{} -> {}", held.type().name, next.type().name), std::move(report)});
  }

  void read_class(const Document& d, const Slot& slot, const std::string& path) {
    const bool is_child = slot.ops->kind == FieldKind::kChild;
    const AnyConfig* const held = held_config(slot);
    if (d.is_null()) return clear_class(slot);
    if (is_named_class(d)) return read_class(with_class(d, path), slot, path);
    if (read_number(d, slot, path)) return;
    if (!d.is_string() && !d.is_object())
      fail_expected(path, "the name of a class or a mapping with 'class'", d);
    const bool names_class = d.is_string() || d.contains("class");
    if (!names_class && !held) fail_expected(path, "a mapping with 'class'", d);
    const ConfigType* type = held ? &held->type() : nullptr;
    if (names_class) {
      const Document& name = d.is_string() ? d : d.at("class");
      if (!name.is_string()) fail_expected(join_config_path(path, "class"), "a name", name);
      const std::string text = name.get<std::string>();
      if (!is_child && d.is_string() && put_function(slot, text)) return;
      type = at_path(path, [&] { return find_class(slot, text); });
    }
    const bool is_name = d.is_string();
    const bool keeps = held && (is_name || !names_class) && &held->type() == type;
    AnyConfig next = keeps ? *held : AnyConfig::with_defaults(*type);
    if (d.is_object()) {
      for (const auto& entry : d.items()) {
        const std::string& key = entry.key();
        if (key == "class" || (is_child && key.starts_with('@'))) continue;
        mistakes_.attempt(
            [&] { read_member(ConfigView(next).slot(), key, entry.value(), path, "field"); });
      }
    }
    if (held && is_name) note_kept(*held, next, path);
    at_path(path, [&] { put_config(slot, std::move(next)); });
    if (is_child && d.is_object()) read_options(d, slot, path, names_class);
  }

  void read_options(const Document& d, const Slot& slot, const std::string& path,
                    bool names_class) {
    if (names_class && unnamed_ == UnnamedValues::kReset) {
      const AnyConfig defaults = AnyConfig::with_defaults(slot.ops->options_type());
      defaults.type().ops->assign(slot.ops->options(slot.at), defaults.get());
    }
    for (const auto& entry : d.items()) {
      if (entry.key().starts_with('@'))
        mistakes_.attempt([&] { read_member(slot, entry.key(), entry.value(), path, "option"); });
    }
  }

  static void clear_class(const Slot& slot) {
    if (slot.ops->kind == FieldKind::kChild)
      slot.ops->child(slot.at).any() = {};
    else
      slot.ops->fn(slot.at).clear();
  }

  static bool put_function(const Slot& slot, const std::string& name) {
    const AnyFunction function = find_function(*slot.ops->signature, name);
    if (function) slot.ops->fn(slot.at).put_as(name, function);
    return function != nullptr;
  }

  static const ConfigType* find_class(const Slot& slot, const std::string& name) {
    const bool is_child = slot.ops->kind == FieldKind::kChild;
    const ConfigType* type =
        find_config_type(is_child ? *slot.ops->role().type : *slot.ops->signature, name);
    if (!type && is_child) fail_no_class(slot.ops->role(), name);
    if (!type) fail_no_function(*slot.ops->signature, name);
    return type;
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

Document document_of(const Slot& slot, std::string_view text, const std::string& path) {
  if (clears(slot, text)) return nullptr;
  const TypeOps& inner = inner_type(slot);
  if (inner.kind == FieldKind::kLeaf) {
    const bool is_quoted_nothing = text == "''" || text == "\"\"";
    return std::string(inner.leaf == LeafKind::kString || is_quoted_nothing ? unquoted(text)
                                                                            : text);
  }
  const bool has_class = inner.kind == FieldKind::kChild || inner.kind == FieldKind::kFn;
  if (has_class && !text.starts_with('{')) return std::string(text);
  Document document = parse_yaml(text, path);
  // Only the text `none` stands for nothing. Other texts that YAML reads as null (`null`, `~`, an
  // empty text, only a comment) are mistakes.
  return document.is_null() ? Document(text) : document;
}

}  // namespace

std::vector<Rewrite> read_document(const Document& document, const Slot& slot,
                                   const std::string& path, UnnamedValues unnamed) {
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
  return read_document(document_of(slot, text, full), slot, full, UnnamedValues::kKeep);
}

std::vector<Rewrite> set_value(ConfigRef root, std::string_view path, const Document& value,
                               std::string_view root_name) {
  if (value.is_null() && remove_entry(root, path, root_name)) return {};
  const Slot slot = find_or_make_slot(root, path, root_name);
  const std::string full = join_config_path(root_name, path);
  const auto read = [&](const Document& document) {
    return read_document(document, slot, full, UnnamedValues::kKeep);
  };
  if (!value.is_string() || value == "none") return read(value);  // "none" in quotes is a text
  const auto& text = value.get_ref<const std::string&>();
  // The document has the text of a leaf already, without its quotes.
  if (inner_type(slot).kind == FieldKind::kLeaf && !clears(slot, text)) return read(value);
  return read(document_of(slot, text, full));
}

}  // namespace axle
