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

Json document_of(const Slot& outer) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  Json out;
  if (ops.kind == FieldKind::kLeaf) {
    ops.write ? ops.write(slot.at, out) : void(out = ops.text(slot.at));
    return out;
  }
  if (is_unset(slot)) return nullptr;
  const AnyConfig* const held = ops.held ? &ops.held(slot.at) : nullptr;
  if (ops.kind == FieldKind::kFn && held->type().fields.empty()) return held->name();
  if (ops.kind == FieldKind::kList) {
    out = Json::array();
    for (const Slot& element : children_of(slot)) out.push_back(document_of(element));
    return out;
  }
  out = held ? Json{{"class", held->name()}} : Json::object();
  // Appends without a search for the name: all differ.
  auto& members = out.get_ref<Json::object_t&>();
  for (const Slot& child : shown_children(slot)) {
    members.Container::emplace_back(ops.kind == FieldKind::kMap ? map_key(child.name) : child.name,
                                    document_of(child));
  }
  return out;
}

}  // namespace

Json to_json(const Slot& root) { return document_of(root); }

std::string to_yaml(const Slot& root) { return yaml_text(to_json(root)); }

void from_json(ConfigRef root, const Json& document, std::string_view root_name) {
  read_document(document, root, std::string(root_name), UnnamedValues::kReset);
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
