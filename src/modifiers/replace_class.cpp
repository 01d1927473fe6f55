#include "modifiers/replace_class.h"

#include <fmt/format.h>

#include "config/register.h"
#include "modifiers/field_texts.h"

namespace axle {

std::vector<Rewrite> ReplaceClass::apply(ConfigRef root) const {
  const ConfigType& type = class_named(cfg_.with, "ReplaceClass", "with");
  ReplaceSpec spec{
      .select = select_texts(cfg_.replace, cfg_.at, cfg_.where, "ReplaceClass", "replace"),
      .with = AnyConfig::with_defaults(type)};
  std::vector<Rewrite> out = set_texts(spec.with, cfg_.set, type.name).classes;
  for (const auto& [path, text] : cfg_.set) spec.keep.push_back(path);
  out.push_back({fmt::format("{} -> {}", cfg_.replace, type.name), replace_config(root, spec)});
  return out;
}

AXLE_REGISTER(ReplaceClass)

}  // namespace axle
