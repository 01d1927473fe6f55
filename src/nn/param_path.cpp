#include "nn/param_path.h"

#include <string>

#include "base/text/text.h"

namespace axle {

bool matches_path(std::string_view pattern, std::string_view path) {
  return glob_match(pattern, dotted(std::string(path)));
}

}  // namespace axle
