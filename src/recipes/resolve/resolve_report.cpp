#include "recipes/resolve/resolve_report.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace axle {
namespace {

void append(std::string& out, std::string_view title, const std::vector<std::string>& paths) {
  if (!paths.empty()) out += fmt::format("  {}: {}\n", title, join(paths, ", "));
}

}  // namespace

std::string mesh_rule_text(const ResolveReport& report) {
  std::string out;
  if (!report.mesh_rule.empty())
    out += fmt::format("mesh rule {} for {}\n", report.mesh_rule, report.machine);
  if (!report.unmatched_rules.empty()) {
    out += fmt::format("no mesh rule matches {}; the config is unchanged (rules: {})\n",
                       report.machine, join(report.unmatched_rules, ", "));
  }
  if (!report.rule_not_reapplied.empty()) {
    out += fmt::format(
        "the mesh rules of this file were applied when it was made; the rule {} for {} is not "
        "applied again\n",
        report.rule_not_reapplied, report.machine);
  }
  if (!report.rule_set_too_late.empty()) {
    out += fmt::format(
        "a modifier changed the mesh rules after they were applied; the rule {} for {} is not "
        "applied; set mesh_rules by 'set:' or --set\n",
        report.rule_set_too_late, report.machine);
  }
  return out;
}

std::string changes_text(const ResolveReport& report) {
  std::string out;
  for (const Rewrite& rewrite : report.rewrites) {
    const RewriteReport& done = rewrite.report;
    const size_t count = done.matched.size();
    out +=
        fmt::format("{}{}: {}\n", rewrite.what, count > 1 ? fmt::format(", {} slots", count) : "",
                    count == 0 ? "nothing to change" : join(done.matched, ", "));
    append(out, "so before", done.unchanged);
    for (const auto& [path, why] : done.skipped)
      out += fmt::format("  skipped: {}: {}\n", path, why);
    append(out, "carried over", done.carried);
    append(out, "dropped", done.dropped);
  }
  return out;
}

std::string to_text(const ResolveReport& report) {
  return mesh_rule_text(report) + changes_text(report);
}

}  // namespace axle
