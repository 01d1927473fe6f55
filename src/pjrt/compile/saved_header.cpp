#include "pjrt/compile/saved_header.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMaxHeaderBytes = size_t{64} << 20;

}  // namespace

std::string header_to_json(const SavedHeader& header) {
  const auto& plugin = header.plugin;
  return Json{{"axle", header.axle_version},
              {"plugin",
               {{"platform", plugin.platform},
                {"platform_version", plugin.platform_version},
                {"api_version", plugin.api_version},
                {"attributes", plugin.attributes},
                {"sha256", plugin.sha256}}},
              {"processor", header.processor},
              {"target", header.target},
              {"device_kind", header.device_kind},
              {"mesh", header.mesh},
              {"device_ids", header.device_ids},
              {"program", header.program},
              {"text_sha256", header.text_sha256},
              {"options", header.options},
              {"inputs", header.inputs},
              {"outputs", header.outputs}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

SavedHeader header_from_json(std::string_view text, const std::string& where) {
  return json_as<StorageError>(where + ": not a saved executable's header", [&] {
    const Json document = read_json(text, kMaxHeaderBytes);
    const JsonView json(document), plugin = json.at("plugin");
    SavedHeader out{.axle_version = json.at("axle").text(),
                    .plugin = {.platform = plugin.at("platform").text(),
                               .platform_version = plugin.at("platform_version").text(),
                               .api_version = plugin.at("api_version").text(),
                               .sha256 = plugin.at("sha256").text()},
                    .processor = json.at("processor").text(),
                    .target = json.at("target").text(),
                    .device_kind = json.at("device_kind").text(),
                    .mesh = json.at("mesh").text(),
                    .program = json.at("program").text(),
                    .text_sha256 = json.at("text_sha256").text(),
                    .inputs = json.at("inputs").texts(),
                    .outputs = json.at("outputs").texts()};
    for (const auto& [name, value] : plugin.at("attributes").members())
      out.plugin.attributes.emplace(name, value.text());
    for (const JsonView& id : json.at("device_ids").elements())
      out.device_ids.push_back(id.integer(0, std::numeric_limits<int64_t>::max()));
    for (const JsonView& option : json.at("options").elements()) {
      const std::vector<std::string> pair = option.texts();
      if (pair.size() != 2) option.fail("a name and its value");
      out.options.emplace_back(pair[0], pair[1]);
    }
    return out;
  });
}

}  // namespace axle
