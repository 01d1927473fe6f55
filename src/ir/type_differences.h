// How named tensors differ from those that were expected.
#pragma once

#include <string>

#include "base/tree.h"
#include "ir/type.h"

namespace axle {

/// Every name that is missing, of another type or not expected, at most twenty of them:
/// "a: expected f32[2], got none; b: expected none, got i32[]; and 7 more". Empty where none is.
std::string type_differences(const Tree<Type>& expected, const Tree<Type>& got);

/// The types of named values that have a type().
template <class Value>
Tree<Type> types_of(const Tree<Value>& values) {
  Tree<Type> out;
  for (const auto& [name, value] : values) out.emplace_hint(out.end(), name, value.type());
  return out;
}

}  // namespace axle
