#include "config/missing.h"

#include "base/error.h"
#include "base/text/text.h"
#include "config/fields/own_values.h"
#include "config/walk.h"

namespace axle {
namespace {

bool is_unset(const Slot& outer) {
  const Slot slot = unwrap(outer);
  if (slot.ops->kind == FieldKind::kChild) return !slot.ops->child(slot.at);
  if (slot.ops->kind == FieldKind::kFn) return !slot.ops->fn(slot.at);
  return slot.ops->kind == FieldKind::kRequired;
}

}  // namespace

std::vector<std::string> missing(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> out;
  walk(
      root,
      [&](const std::string& path, const Slot& slot) {
        if (is_unset(slot)) out.push_back(path);
      },
      {}, root_name);
  return out;
}

std::vector<std::string> out_of_range(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> out;
  walk(
      root,
      [&](const std::string& path, const Slot& slot) {
        if (std::string problem = range_problem(path, unwrap(slot)); !problem.empty())
          out.push_back(std::move(problem));
      },
      {}, root_name);
  return out;
}

void check_complete(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> problems = out_of_range(root, root_name);
  const std::vector<std::string> unset = missing(root, root_name);
  if (!unset.empty()) problems.push_back("REQUIRED but not set: " + join(unset, ", "));
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
}

}  // namespace axle
