// Differences between named tensors and the expected ones.
#pragma once

#include <string>

#include "base/tree.h"
#include "ir/type.h"

namespace axle {

/// Lists the names that are missing, have another type or are not expected, at most twenty: "a:
/// expected f32[2], got none; b: expected none, got i32[]; and 7 more". Returns "" if there are no
/// differences.
std::string type_differences(const Tree<Type>& expected, const Tree<Type>& got);

/// Returns the types of named values that have a member type().
template <class Value>
Tree<Type> types_of(const Tree<Value>& values) {
  Tree<Type> out;
  for (const auto& [name, value] : values) out.emplace_hint(out.end(), name, value.type());
  return out;
}

}  // namespace axle
