#include "config/missing.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

void add_problems(const std::string& path, const Slot& outer, bool with_children,
                  std::vector<std::string>& out) {
  const Slot slot = unwrap(outer);
  const TypeOps& ops = *slot.ops;
  std::string problem;
  if (ops.key_problem) {
    for (const Element& element : ops.elements(slot.at))
      if (problem.empty()) problem = ops.key_problem(element.key);
  } else if (ops.bounds) {
    const double number = ops.number(slot.at);
    const bool is_contained = ops.bounds->contain(number);
    if (!is_contained || (ops.leaf == LeafKind::kNumber && !fits_device(number))) {
      problem =
          fmt::format("expected {}, got {}",
                      is_contained ? std::string(kFitsDevice) : range_text(*ops.bounds, ops.leaf),
                      ops.text(slot.at));
    }
  }
  if (!problem.empty()) out.push_back(fmt::format("{}: {}", path, problem));
  for (const Slot& child : children_of(slot)) {
    if (with_children || unwrap(child).ops->kind != FieldKind::kChild)
      add_problems(join_config_path(path, child.name), child, with_children, out);
  }
}

}  // namespace

std::vector<std::string> missing(const ConfigView& root, std::string_view root_name) {
  std::vector<std::string> out;
  const auto note = [&](const std::string& path, const Slot& outer) {
    const Slot slot = unwrap(outer);
    if (slot.ops->held ? !slot.ops->held(slot.at) : slot.ops->kind == FieldKind::kRequired)
      out.push_back(path);
  };
  walk(root, note, {}, root_name);
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
