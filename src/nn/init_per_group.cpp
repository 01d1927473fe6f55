#include "nn/init_per_group.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ops/movement/slice.h"
#include "ops/random/random.h"

namespace axle {

Initialiser InitPerGroup::operator()(const InitSpec& spec) const {
  const int64_t groups = num_groups;
  if (spec.shape.empty() || spec.shape.back() % groups != 0) {
    throw ConfigError(
        fmt::format("num_groups: must divide the last dim of the parameter, got {} and shape {}",
                    groups, to_text(spec.shape)));
  }
  InitSpec group = spec;
  group.shape.back() /= groups;
  const Initialiser of_group = init(group);
  return {fmt::format("{} in {} groups", of_group.text, groups),
          [of_group, groups](const random::Key& key) {
            if (groups == 1) return of_group.draw(key);
            Values parts;
            for (const random::Key& own : random::split_each(key, groups))
              parts.push_back(of_group.draw(own));
            return concatenate(parts, -1);
          }};
}

AXLE_REGISTER(InitPerGroup)

}  // namespace axle
