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
    if (!std::ranges::any_of(missing(config), is_text)) throw;
    throw ConfigError(std::string(error.what()) +
                      "; --data PATH names a file or folder of text, --data " +
                      std::string(kSyntheticData) + " needs none");
  }
}

}  // namespace axle
