#include "inspect/eval_layer/layer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/document/serialize.h"
#include "config/missing.h"
#include "config/walk.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Returns the keys of slot options with their sign: "@init".
std::vector<std::string> option_keys() {
  std::vector<std::string> out;
  for (const Field& field : LayerOptions::config_type().fields)
    out.push_back("@" + std::string(field.name));
  return out;
}

void check_file_keys(const Json& document, const std::string& source) {
  std::vector<std::string> keys = {"class", "config", "dims"};
  if (!document.is_object())
    throw ConfigError(source + ": expected {class: Name, config: {...}, dims: {...}}");
  for (const std::string& option : option_keys()) keys.push_back(option);
  for (const auto& [key, unused] : document.items()) {
    if (!std::ranges::count(keys, key)) {
      throw ConfigError(fmt::format("{}: no such key: {}{} (keys: {})", source, key,
                                    suggest(key, keys), join(keys, ", ")));
    }
  }
}

LayerOptions read_options(const Json& document) {
  LayerOptions out;
  for (const Slot& slot : children_of(ConfigView(out).slot())) {
    const std::string key = "@" + slot.name;
    if (document.contains(key)) from_json(ConfigRef(slot), document[key], key);
  }
  return out;
}

void check_is_layer(const ConfigType& type) {
  if (type.role && type.role->dims && derives_from(*type.role->type, typeid(Layer))) return;
  throw ConfigError(fmt::format("class: expected a layer, got {}", type.name));
}

AnyConfig read_dims(const ConfigType& type, const Json& given) {
  AnyConfig dims = AnyConfig::with_defaults(type);
  from_json(dims, given, "dims");
  // Sizes have no defaults: a missing one would be 0.
  std::vector<std::string> left_out;
  for (const Field& field : type.fields) {
    const bool is_size =
        field.ops->kind == FieldKind::kLeaf && field.ops->leaf == LeafKind::kInteger;
    if (is_size && !given.contains(field.name))
      left_out.push_back("dims." + std::string(field.name));
  }
  if (!left_out.empty()) throw ConfigError("REQUIRED but not set: " + join(left_out, ", "));
  return dims;
}

}  // namespace

LayerFile read_layer_file(const Json& document, const std::string& source) {
  check_file_keys(document, source);
  try {
    AnyConfig config = config_from_json(document, "config");
    check_is_layer(config.type());
    const bool has_dims = document.contains("dims") && !document["dims"].is_null();
    AnyConfig dims =
        read_dims(config.type().role->dims(), has_dims ? document["dims"] : Json::object());
    check_complete(config, "config");
    return {std::move(config), std::move(dims), read_options(document)};
  } catch (const ConfigError& error) {
    throw ConfigError(source + ": " + error.what());
  }
}

std::unique_ptr<Layer> build_layer(const LayerFile& file) {
  // Layer is the only base class of a role, so both begin at the same address.
  const Scope scope{.options = &file.options, .dims = file.dims.get()};
  void* role = file.config.type().build(file.config.get(), file.dims.get(), scope);
  return std::unique_ptr<Layer>(static_cast<Layer*>(role));
}

}  // namespace axle
