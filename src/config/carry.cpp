#include "config/carry.h"

#include <algorithm>

#include "config/config_ref.h"
#include "config/print.h"
#include "config/walk.h"

namespace axle {
namespace {

std::vector<Slot> fields_of(const AnyConfig& config) {
  return children_of(ConfigView(config).slot());
}

const Slot* find_field(const std::vector<Slot>& fields, const Slot& like) {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const Slot& f) {
    return f.name == like.name && *f.ops->type == *like.ops->type;
  });
  return it == fields.end() ? nullptr : &*it;
}

}  // namespace

Carried carry_over(const AnyConfig& from, const AnyConfig& to,
                   std::span<const std::string> set_fields) {
  const AnyConfig fresh = AnyConfig::fresh(to.type());
  const std::vector<Slot> old_fields = fields_of(from), new_fields = fields_of(to),
                          defaults = fields_of(fresh);
  const auto is_named = [&](const std::string& field) {
    return std::any_of(set_fields.begin(), set_fields.end(), [&](const std::string& path) {
      return std::string_view(path).substr(0, path.find_first_of(".[")) == field;
    });
  };
  Carried report;
  for (size_t i = 0; i < new_fields.size(); ++i) {
    const Slot& field = new_fields[i];
    const Slot* old = find_field(old_fields, field);
    if (!old || is_named(field.name) || !same_values(field, defaults[i])) continue;
    field.ops->assign(field.at, old->at);
    report.carried.push_back(field.name);
  }
  for (const Slot& old : old_fields) {
    if (!find_field(new_fields, old)) report.dropped.push_back(old.name);
  }
  return report;
}

}  // namespace axle
