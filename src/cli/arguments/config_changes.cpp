#include "cli/arguments/config_changes.h"

namespace axle::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

}  // namespace

std::string to_text(const ConfigChanges& report) {
  return report.changes.empty() ? "no differences\n" : axle::to_text(report.changes);
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
