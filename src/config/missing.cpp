#include "config/missing.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/fields/device_number.h"
#include "config/fields/own_values.h"
#include "config/walk.h"

namespace axle {
namespace {

void add_problems(const std::string& path, const Slot& outer, bool with_children,
                  std::vector<std::string>& out) {
  const Slot slot = unwrap(outer);
  if (std::string problem = range_problem(path, slot); !problem.empty())
    out.push_back(std::move(problem));
  for (const Slot& child : children_of(slot)) {
    if (with_children || unwrap(child).ops->kind != FieldKind::kChild)
      add_problems(join_config_path(path, child.name), child, with_children, out);
  }
}

bool is_unset(const Slot& outer) {
  const Slot slot = unwrap(outer);
  if (slot.ops->kind == FieldKind::kChild) return !slot.ops->child(slot.at);
  if (slot.ops->kind == FieldKind::kFn) return !slot.ops->fn(slot.at);
  return slot.ops->kind == FieldKind::kRequired;
}

}  // namespace

std::string range_problem(const std::string& path, const Slot& slot) {
  const TypeOps& ops = *slot.ops;
  if (ops.key_problem) {
    for (const Element& element : ops.elements(slot.at)) {
      const std::string problem = ops.key_problem(element.key);
      if (!problem.empty()) return path + ": " + problem;
    }
  }
  if (!ops.bounds) return {};
  const double number = ops.number(slot.at);
  const bool is_contained = ops.bounds->contain(number);
  if (is_contained && (ops.leaf != LeafKind::kNumber || fits_device(number))) return {};
  return fmt::format("{}: expected {}, got {}", path,
                     is_contained ? std::string(kFitsDevice) : range_text(*ops.bounds, ops.leaf),
                     ops.text(slot.at));
}

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
  add_problems(std::string(root_name), root.slot(), true, out);
  return out;
}

void check_complete(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> problems = out_of_range(root, root_name);
  const std::vector<std::string> unset = missing(root, root_name);
  if (!unset.empty()) problems.push_back("REQUIRED but not set: " + join(unset, ", "));
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
}

void check_own_values(const AnyConfig& config, std::string_view path) {
  std::vector<std::string> problems;
  add_problems(std::string(path), ConfigView(config).slot(), false, problems);
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
}

}  // namespace axle
