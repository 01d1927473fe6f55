#include "interop/special_ids.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/text.h"

namespace axle {

std::string special_ids_difference(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                   const std::string& tokenizer_file) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* name, const std::vector<int64_t>& named,
                           std::optional<int32_t> own) {
    if (named.empty() || !own || std::ranges::count(named, *own) > 0) return;
    differences.push_back(fmt::format("{} {} and not {}", name, fmt::join(named, " or "), *own));
  };
  compare("bos", config.bos, tokenizer.bos);
  compare("eos", config.eos, tokenizer.eos);
  compare("pad", config.pad, tokenizer.pad);
  if (differences.empty()) return {};
  return fmt::format(
      "WARNING: {}: expected the special ids of {}, got {}; those of the tokenizer count",
      config.where, tokenizer_file, join(differences, ", "));
}

}  // namespace axle
