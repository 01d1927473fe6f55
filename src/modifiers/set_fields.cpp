#include "modifiers/set_fields.h"

#include <algorithm>
#include <iterator>

#include "config/register.h"
#include "config/set.h"

namespace axle {

std::vector<Replaced> SetFields::apply(ConfigRef root) const {
  std::vector<Replaced> out;
  for (const auto& [path, text] : cfg_.set)
    std::ranges::move(axle::set(root, path, text), std::back_inserter(out));
  return out;
}

AXLE_REGISTER(SetFields)

}  // namespace axle
