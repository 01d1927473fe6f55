#include "base/text/enum_text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/utf8.h"

namespace axle {

void fail_no_enum_text(const std::vector<std::string_view>& texts, std::string_view got) {
  std::string expected;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ";
    expected.append(separator).append(texts[i]);
  }
  throw ConfigError(fmt::format("expected {}, got '{}'", expected, printable(got)));
}

}  // namespace axle
