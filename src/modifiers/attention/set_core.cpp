#include "modifiers/attention/set_core.h"

#include "config/register.h"
#include "modifiers/attention/put_where_it_fits.h"

namespace axle {

std::vector<Rewrite> SetCore::apply(ConfigRef root) const {
  return {put_where_it_fits(root, cfg_.core.any(), cfg_.at)};
}

AXLE_REGISTER(SetCore)

}  // namespace axle
