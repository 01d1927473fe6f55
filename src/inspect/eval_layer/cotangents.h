// The cotangents that a user's files give for some of a call's outputs.
#pragma once

#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// An output of a call: "loss" of "out/loss"; empty for "out" itself.
struct NamedOutput {
  std::string name;
  Tensor value;
};

/// One cotangent for each output, none (zero) where it is not given or the output has no gradient.
/// `given` are called after the output ("loss") or its place ("0"). Traced. Throws ConfigError for
/// none at all, two for one output, other types, and names of no floating-point output.
Values cotangents_for(const std::vector<NamedOutput>& outputs, const Tree<Tensor>& given);

}  // namespace axle
