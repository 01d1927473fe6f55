// Exchanges parts of a model where the model can still be built, and tells where it cannot.
#pragma once

#include "config/replace.h"

namespace axle {

/// Puts `with` into every slot of its role below the field `model` of the root whose path matches
/// the pattern `at`, as replace_config() does: fields that `with` does not set keep their values. A
/// class that holds another one of the role stays, and what it holds is replaced. Returns the
/// rewrite "KVCache -> PagedKVCache". Slots are skipped, with the reason,
///   for which `refuses` returns one (empty: none);
///   whose new class makes the model refuse to be built.
/// Throws NoMatch if no slot has the role at such a path.
Rewrite put_where_it_fits(ConfigRef root, const AnyConfig& with, const std::string& at,
                          const std::function<std::string(const AnyConfig& old)>& refuses = {});

}  // namespace axle
