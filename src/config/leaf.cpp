#include "config/leaf.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/unicode.h"

namespace axle::detail {
namespace {

using Json = nlohmann::ordered_json;

// Returns a list as text, "[None, [expert, fsdp], model]", for a type that parses such text itself.
std::string flow_text(const Json& d) {
  if (d.is_null()) return "none";
  if (!d.is_array()) return d.is_string() ? d.get<std::string>() : d.dump();
  std::string out = "[";
  for (const Json& element : d) out += (out.size() > 1 ? ", " : "") + flow_text(element);
  return out + "]";
}

}  // namespace

std::string text_in(const Json& d, LeafKind kind) {
  if (kind == LeafKind::kText && !d.is_object()) return flow_text(d);
  if (d.is_string()) return d.get<std::string>();
  if (d.is_null()) throw ConfigError("expected a string, got none; a string 'none' needs quotes");
  throw ConfigError(fmt::format(
      "expected {}, got {}", kind == LeafKind::kString ? "a string" : "text", printable(d.dump())));
}

}  // namespace axle::detail
