// Filters: what is taken from a generated answer before it is compared.
//
// Source: lm-evaluation-harness 0.4, lm_eval/filters.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace axle {

using AnswerFilter = std::function<std::string(std::string answer)>;

/// Filters one after the other. The metrics of a chain have its name.
struct FilterChain {
  std::string name = "none";
  std::vector<AnswerFilter> filters = {};

  std::string apply(std::string answer) const;
};

/// Returns the filter {"function": "regex", "regex_pattern": ...}. Throws ConfigError for one that
/// is not known, and for arguments that it does not have.
AnswerFilter make_filter(const nlohmann::ordered_json& config);

}  // namespace axle
