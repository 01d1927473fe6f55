// Checks tensors of a user's files against what is expected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

/// Returns `given` if its names are those of `expected` and its shapes are as expected; tensors of
/// one element may be [] or [1], and get the expected shape. Keeps other dtypes of the same kind
/// (float or not). Throws ConfigError naming every missing, extra and misshapen tensor as
/// "<prefix>/<name>: ..."; DataError if one is missing. `what` describes a tensor in messages: "a
/// parameter of this layer".
Tree<HostTensor> check_given(const Tree<Type>& expected, Tree<HostTensor> given,
                             std::string_view prefix, std::string_view what);

/// Returns `value` reshaped to `shape` if both have one element and at most one dim; else
/// unchanged.
HostTensor as_scalar_like(HostTensor value, const Shape& shape);

/// Casts the floating-point tensors to `dtype`.
void cast_floats(Tree<HostTensor>& tensors, DType dtype);

/// What ids below 0 are: mistakes, or labels that the loss ignores.
enum class NegativeIds { kRefused, kIgnored };
/// Throws ConfigError "<name>: ..." if an id is outside the vocabulary: a lookup would silently use
/// the nearest id.
void check_ids(const std::string& name, const HostTensor& ids, int64_t vocab_size,
               NegativeIds negative = NegativeIds::kRefused);

/// Throws Error with kDoesNotFit and the sizes if the host has no room for tensors of these types,
/// none of which is allocated yet. `what` names them in the message.
void check_tensor_memory(const std::string& what, const Tree<Type>& types);

/// Returns the initial weights: `params`, or "init/<path>" of the inputs; none if neither is given.
/// Throws ConfigError if both are given and differ.
std::optional<Tree<HostTensor>> start_weights(const std::optional<Tree<HostTensor>>& params,
                                              const Tree<HostTensor>& inputs);

/// Throws ConfigError for `names` that nothing read, if there are any. `known` are names to suggest
/// instead.
void fail_unread(const std::vector<std::string>& names, const std::vector<std::string>& known);

}  // namespace axle
