#include "config/fields/own_values.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "config/fields/device_number.h"
#include "config/walk.h"

namespace axle {
namespace {

// Checks the config itself, not the configs of its children, which are checked when they are built.
void check_own(const std::string& path, const Slot& slot, std::vector<std::string>& out) {
  if (std::string problem = range_problem(path, slot); !problem.empty())
    out.push_back(std::move(problem));
  for (const Slot& child : children_of(slot)) {
    if (unwrap(child).ops->kind != FieldKind::kChild)
      check_own(join_config_path(path, child.name), unwrap(child), out);
  }
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

void check_own_values(const AnyConfig& config, std::string_view path) {
  std::vector<std::string> problems;
  check_own(std::string(path), ConfigView(config).slot(), problems);
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
}

}  // namespace axle
