#include "cli/arguments/config_changes.h"

#include <fmt/format.h>

namespace axle::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

}  // namespace

std::string to_text(const ConfigChanges& report) {
  if (report.changes.empty()) return "no differences\n";
  std::string out;
  for (const ConfigChange& change : report.changes) {
    const std::string &before = change.before.value_or(""), after = change.after.value_or("");
    if (change.before && change.after)
      out += fmt::format("{}: {} -> {}\n", change.path, before, after);
    else if (change.before)
      out += fmt::format("{}: {} (gone)\n", change.path, before);
    else
      out += fmt::format("{}: {} (new)\n", change.path, after);
  }
  return out;
}

Json to_json(const ConfigChanges& report) {
  Json changes = Json::object();
  for (const ConfigChange& change : report.changes) {
    changes[change.path] = {{"before", text_or_null(change.before)},
                            {"after", text_or_null(change.after)}};
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace axle::cli
