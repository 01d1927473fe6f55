#include "config/fields/required.h"

#include "base/error.h"

namespace axle {

void detail::fail_unset_read() {
  throw ConfigError(
      "a REQUIRED field was read before it was set; check_complete() names all that are unset");
}

}  // namespace axle
