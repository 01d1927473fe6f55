// Rematerialisation: the backward pass recomputes values of a function instead of keeping them. A
// policy says which forward values it keeps, and where.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "transform/partition.h"
#include "transform/trace.h"

namespace axle {

/// A pattern of the tags that name(x, tag) gives.
struct TagPattern {
  std::string text;
  std::function<bool(std::string_view tag)> matches;
};

/// Decides which forward values of a remat region are kept, besides its inputs.
struct RematPolicy {
  ResidualPolicy decide;
  std::string text;                       // for printing
  std::vector<TagPattern> patterns = {};  // each must match a tag in the region
};

/// Keeps no values: everything is recomputed.
RematPolicy save_nothing();
/// Keeps all values except those of cheap ops, which are recomputed.
RematPolicy save_everything();
/// Keeps the results of products: dot_general, convolution, ragged_dot, ragged_dot_contracting.
RematPolicy save_dots();
/// Keeps the results of products in host memory.
RematPolicy offload_dots();
/// Keeps the values that name(x, tag) tagged with one of these names. Values tagged with a name of
/// `offload` are kept in host memory. "*" and "?" match as in file names. Names in both lists are
/// kept on the device. Names of `optional` are kept on the device, and a region may have none of
/// them. Throws ConfigError if all lists are empty.
RematPolicy save_names(std::vector<std::string> names, std::vector<std::string> offload = {},
                       std::vector<std::string> optional = {});
/// Like save_names, by regular expressions that match whole tags. Throws ConfigError also for a
/// pattern that is no regular expression.
RematPolicy save_matching(std::vector<std::string> patterns, std::vector<std::string> offload = {});
/// Keeps what any of the policies keeps: on the device if any of them says so, else in host memory.
/// Throws ConfigError if there is none.
RematPolicy combine(std::vector<RematPolicy> policies);

/// Throws ConfigError if a pattern of the policy matches no tag of the region. A misspelled name
/// would only cause more recomputation.
void check_tags(const RematPolicy& policy, const Region& region);

/// Computes fn(arguments). When differentiated, it stores only the values that the policy keeps.
/// `prevent_cse` puts a barrier before the recomputation, so that the compiler does not undo it by
/// CSE; inside the body of a scan it is not needed. Throws ConfigError if a name of the policy
/// matches no tag in fn.
Values remat(const TensorFunction& fn, const Values& arguments,
             const RematPolicy& policy = save_nothing(), bool prevent_cse = true);

}  // namespace axle
