// The cotangents that a user's files give for the outputs of a call.
#pragma once

#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"

namespace axle {

/// An output of a call. The name of "out/loss" is "loss"; the name of "out" itself is empty.
struct NamedOutput {
  std::string name;
  Tensor value;
};

/// Traced. Returns one cotangent for each output; none (zero) if it is not given or the output is
/// not a floating-point tensor. Keys of `given` are the names of outputs ("loss") or their indices
/// ("0"). Throws DataError if `given` is empty, ConfigError if it has two cotangents for one output
/// or one of another type, for names of no floating-point output, and if there is no such output.
Values cotangents_for(const std::vector<NamedOutput>& outputs, const Tree<Tensor>& given);

}  // namespace axle
