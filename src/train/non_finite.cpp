#include "train/non_finite.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {

std::string to_text(NonFinite v) { return v == NonFinite::kStop ? "stop" : "skip"; }

void from_text(std::string_view text, NonFinite& v) {
  if (text != "stop" && text != "skip")
    throw ConfigError(fmt::format("expected stop or skip, got '{}'", text));
  v = text == "stop" ? NonFinite::kStop : NonFinite::kSkip;
}

}  // namespace axle
