#include "config/document/serialize.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "config/document/print.h"
#include "config/registry.h"
#include "config/set.h"
#include "config/walk.h"

namespace axle {
namespace {

using ConfigDocument = nlohmann::ordered_json;

ConfigDocument document_of_slot(const Slot& slot);

ConfigDocument leaf_document(const TypeOps& ops, const void* at) {
  std::string text = ops.text(at);
  const bool is_text = ops.leaf == LeafKind::kString || ops.leaf == LeafKind::kText;
  // JSON has neither infinities nor NaN: they become strings.
  const bool is_finite = ops.leaf != LeafKind::kNumber || text.find('n') == text.npos;
  return is_text || !is_finite ? ConfigDocument(std::move(text)) : ConfigDocument::parse(text);
}

ConfigDocument members_of(const Slot& slot, ConfigDocument out) {
  for (const Slot& child : children_of(slot)) {
    if (child.name.starts_with('@') && !is_changed_option(slot, child)) continue;
    out[child.name] = document_of_slot(child);
  }
  return out;
}

ConfigDocument class_document(const Slot& slot, const AnyConfig& held) {
  return members_of(slot, ConfigDocument{{"class", std::string(held.type().name)}});
}

ConfigDocument function_document(const Slot& slot) {
  const FnSlot& fn = slot.ops->fn(slot.at);
  if (!fn) return nullptr;
  const bool has_fields = fn.functor() && !fn.functor().type().fields.empty();
  return has_fields ? class_document(slot, fn.functor()) : ConfigDocument(fn.name());
}

ConfigDocument document_of_slot(const Slot& outer) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  switch (ops.kind) {
    case FieldKind::kOptional:
    case FieldKind::kRequired:
      return nullptr;
    case FieldKind::kLeaf:
      return leaf_document(ops, slot.at);
    case FieldKind::kStruct:
      return members_of(slot, ConfigDocument::object());
    case FieldKind::kChild: {
      const ChildSlot& child = ops.child(slot.at);
      return child ? class_document(slot, child.any()) : ConfigDocument(nullptr);
    }
    case FieldKind::kFn:
      return function_document(slot);
    case FieldKind::kList: {
      ConfigDocument out = ConfigDocument::array();
      for (const Slot& element : children_of(slot)) out.push_back(document_of_slot(element));
      return out;
    }
    case FieldKind::kMap:
      break;
  }
  ConfigDocument out = ConfigDocument::object();
  // Appends without a search for the key: the keys of a map differ.
  auto& members = out.get_ref<ConfigDocument::object_t&>();
  for (const Element& element : ops.elements(slot.at))
    members.Container::emplace_back(element.key, document_of_slot({{}, element.at, ops.element}));
  return out;
}

}  // namespace

ConfigDocument to_json(const ConfigView& root) { return document_of_slot(root.slot()); }

std::string to_yaml(const ConfigView& root) { return yaml_text(to_json(root)); }

void from_json(ConfigRef root, const ConfigDocument& document, std::string_view root_name) {
  read_document(document, root.slot(), std::string(root_name), UnnamedValues::kReset);
}

void from_yaml(ConfigRef root, std::string_view text, std::string_view root_name) {
  from_json(root, parse_yaml(text, root_name.empty() ? "yaml" : root_name), root_name);
}

AnyConfig config_from_json(const ConfigDocument& document, std::string_view root_name) {
  if (!document.is_object() || !document.contains("class") || !document["class"].is_string()) {
    throw ConfigError(fmt::format("{}: expected {{class: Name, config: {{...}}}}, got {}",
                                  root_name, document.dump()));
  }
  AnyConfig config =
      AnyConfig::with_defaults(find_config_type(document["class"].get<std::string>()));
  if (document.contains("config") && !document["config"].is_null()) {
    from_json(config, document["config"], root_name);
  }
  return config;
}

}  // namespace axle
