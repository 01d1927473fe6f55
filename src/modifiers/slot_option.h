// Sets options of slots. The modifiers of layers build on it.
#pragma once

#include <functional>
#include <string_view>

#include "config/replace.h"

namespace axle {

/// True for the slots that a modifier changes.
using SlotFilter = std::function<bool(const std::string& path, const Slot& slot)>;

/// Sets the option `name` ("@dtype") of every slot that `wanted` selects to `*value`, which must
/// have the option's type. Returns the paths of the slots.
RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         const SlotFilter& wanted);
/// Sets the option of every slot whose path matches the pattern `at`. Throws NoMatch
/// `<where>.at: ...` if no slot matches.
RewriteReport set_option(ConfigRef root, std::string_view name, const void* value,
                         std::string_view at, std::string_view where);

}  // namespace axle
