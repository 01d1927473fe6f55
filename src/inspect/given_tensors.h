// Tensors of a user's files against what is expected of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "learn/subtree.h"

namespace axle {

/// `given` by the names of `expected`, each with the shape that is expected there: of one element,
/// [] and [1] are the same. Other dtypes of the same kind (floats, integers) are left as they are.
/// Throws ConfigError naming every missing, extra and misshapen one as "<prefix>/<name>: ...".
/// `what` they are: "a parameter of this layer".
Tree<HostTensor> check_given(const Tree<Type>& expected, Tree<HostTensor> given,
                             std::string_view prefix, std::string_view what);

/// `value` as `shape` where both have one element and at most one dim; else as it is.
HostTensor as_scalar_like(HostTensor value, const Shape& shape);

/// Floating-point tensors cast.
void cast_floats(Tree<HostTensor>& tensors, DType dtype);

/// What ids below 0 are: mistakes, or labels that no loss counts.
enum class NegativeIds { kRefused, kIgnored };
/// Throws ConfigError "<name>: ..." for an id that is none of a vocabulary of this size: a lookup
/// would take it for the nearest one and say nothing.
void check_ids(const std::string& name, const HostTensor& ids, int64_t vocab_size,
               NegativeIds negative = NegativeIds::kRefused);

/// Throws Error with kDoesNotFit and the figures if the host has no room for `what`: tensors of
/// these types, none of which exists yet.
void check_room(const std::string& what, const Tree<Type>& types);

/// The weights to start from: `params`, or "init/<path>" of the inputs; none where there are
/// neither. Throws ConfigError for two that differ.
std::optional<Tree<HostTensor>> start_weights(const std::optional<Tree<HostTensor>>& params,
                                              const Tree<HostTensor>& inputs);

/// Throws ConfigError for names that nothing read; `known` are the names that they may have meant.
void fail_unread(const std::vector<std::string>& names, const std::vector<std::string>& known);

}  // namespace axle
