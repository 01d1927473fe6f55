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
    for (const Slot& element : ops.elements(slot.at))
      if (problem.empty()) problem = ops.key_problem(map_key(element.name));
  } else if (ops.bounds) {
    problem = expected_instead(ops.number(slot.at), *ops.bounds, ops.is_integer());
    if (!problem.empty()) problem = fmt::format("expected {}, got {}", problem, ops.text(slot.at));
  }
  if (!problem.empty()) out.push_back(fmt::format("{}: {}", path, problem));
  for (const Slot& child : children_of(slot)) {
    if (with_children || unwrap(child).ops->kind != FieldKind::kChild)
      add_problems(join_config_path(path, child.name), child, with_children, out);
  }
}

void throw_any(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
}

}  // namespace

std::vector<std::string> missing(const Slot& root, std::string_view root_name) {
  std::vector<std::string> out;
  const auto note = [&](const std::string& path, const Slot& slot) {
    if (is_unset(slot) && unwrap(slot).ops->kind != FieldKind::kOptional) out.push_back(path);
  };
  walk(root, note, {}, root_name);
  return out;
}

std::vector<std::string> out_of_range(const Slot& root, std::string_view root_name) {
  std::vector<std::string> out;
  add_problems(std::string(root_name), root, true, out);
  return out;
}

void check_complete(const Slot& root, std::string_view root_name) {
  std::vector<std::string> problems = out_of_range(root, root_name);
  const std::vector<std::string> unset = missing(root, root_name);
  if (!unset.empty()) problems.push_back("REQUIRED but not set: " + join(unset, ", "));
  throw_any(problems);
}

void check_own_values(const AnyConfig& config, std::string_view path) {
  std::vector<std::string> problems;
  add_problems(std::string(path), config, false, problems);
  throw_any(problems);
}

}  // namespace axle
