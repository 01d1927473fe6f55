#include "config/serialize.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/yaml.h"
#include "config/print.h"
#include "config/set.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

Json document_of(const Slot& outer);

Json members_of(const Slot& slot, Json out) {
  for (const Slot& child : shown_children(slot)) out[child.name] = document_of(child);
  return out;
}

Json class_document(const ClassSlot& held, const Slot& slot) {
  if (!held) return nullptr;
  const bool is_name =
      slot.ops->kind == FieldKind::kFn && (!held.any() || held.any().type().fields.empty());
  return is_name ? Json(held.name()) : members_of(slot, {{"class", held.name()}});
}

Json document_of(const Slot& outer) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  Json out;
  switch (ops.kind) {
    case FieldKind::kOptional:
    case FieldKind::kRequired:
      return nullptr;
    case FieldKind::kLeaf:
      ops.write ? ops.write(slot.at, out) : void(out = ops.text(slot.at));
      return out;
    case FieldKind::kStruct:
      return members_of(slot, Json::object());
    case FieldKind::kChild:
    case FieldKind::kFn:
      return class_document(ops.held(slot.at), slot);
    case FieldKind::kList:
      out = Json::array();
      for (const Slot& element : children_of(slot)) out.push_back(document_of(element));
      return out;
    case FieldKind::kMap:
      break;
  }
  out = Json::object();
  // Appends without a search for the key: the keys of a map differ.
  auto& members = out.get_ref<Json::object_t&>();
  for (const Element& element : ops.elements(slot.at))
    members.Container::emplace_back(element.key, document_of({{}, element.at, ops.element}));
  return out;
}

}  // namespace

Json to_json(const ConfigView& root) { return document_of(root.slot()); }

std::string to_yaml(const ConfigView& root) { return yaml_text(to_json(root)); }

void from_json(ConfigRef root, const Json& document, std::string_view root_name) {
  read_document(document, root.slot(), std::string(root_name), UnnamedValues::kReset);
}

void from_yaml(ConfigRef root, std::string_view text, std::string_view root_name) {
  from_json(root, parse_yaml(text, root_name.empty() ? "yaml" : root_name), root_name);
}

AnyConfig config_from_json(const Json& document, std::string_view root_name) {
  if (!document.is_object() || !document.contains("class") || !document["class"].is_string()) {
    throw ConfigError(fmt::format("{}: expected {{class: Name, config: {{...}}}}, got {}",
                                  root_name, document.dump()));
  }
  AnyConfig config =
      AnyConfig::with_defaults(find_config_type(document["class"].get<std::string>()));
  if (document.contains("config") && !document["config"].is_null())
    from_json(config, document["config"], root_name);
  return config;
}

}  // namespace axle
