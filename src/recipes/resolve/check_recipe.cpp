#include "recipes/resolve/check_recipe.h"

#include <algorithm>

#include "base/error.h"
#include "config/missing.h"
#include "recipes/resolve/use_data.h"

namespace axle {

void check_recipe(const Trainer::Config& config) {
  try {
    check_complete(config);
  } catch (const ConfigError& error) {
    const auto is_text = [](const std::string& path) { return path.ends_with("source.path"); };
    const std::vector<std::string> unset = missing(config);
    if (unset.empty()) throw;
    std::string advice = "; set each with --set or in a file";
    if (std::ranges::any_of(unset, is_text)) {
      advice = "; --data PATH names a file or folder of text, --data " +
               std::string(kSyntheticData) + " needs none";
    }
    throw ConfigError(error.what() + advice);
  }
}

}  // namespace axle
