#include "plan/advice/change.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "base/text/units.h"

namespace axle {

std::vector<std::string> flags_of(const Edits& edits) {
  std::vector<std::string> out;
  for (const Edit& edit : edits) {
    if (const auto* field = std::get_if<SetField>(&edit)) {
      out.push_back(field->path == "mesh" ? fmt::format("--mesh {}", field->text)
                                          : fmt::format("--set {}={}", field->path, field->text));
    } else {
      out.push_back(fmt::format("--modify \"{}\"", std::get<UseModifier>(edit).text));
    }
  }
  return out;
}

std::string flags_text(const Change& change) { return join(change.flags, " "); }

std::string need_text(const Change& change, int64_t device_memory_bytes) {
  const double bytes =
      change.compiled_bytes ? static_cast<double>(*change.compiled_bytes) : change.estimated_bytes;
  return fmt::format("{}: {} of {} per device{}", flags_text(change), bytes_text(bytes),
                     bytes_text(device_memory_bytes),
                     change.compiled_bytes ? "" : " by an estimate");
}

nlohmann::ordered_json to_json(const Change& change) {
  using Json = nlohmann::ordered_json;
  return {{"flags", change.flags},
          {"estimated_bytes", change.estimated_bytes},
          {"compiled_bytes", change.compiled_bytes ? Json(*change.compiled_bytes) : Json(nullptr)},
          {"fits", change.fits}};
}

}  // namespace axle
