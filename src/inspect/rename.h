// Another framework's parameter names as ours: the file of `eval-layer --rename`.
//
//   # theirs -> ours, the first line that fits the whole path counts
//   i_proj/(*)_proj/weight -> qkv/$1_proj/weight     # $1, $2, ... are the parts in parentheses
//   (*)                    -> $1
//   in/query               -> in/x                   # inputs, if their names differ
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Ordered rules from paths to paths. `*` is any run of characters without "/", `(...)` a group
/// that `$1` names.
class RenameRules {
 public:
  RenameRules() = default;
  /// Throws ConfigError "<source>:<line>: ...".
  RenameRules(std::string_view text, const std::string& source);

  /// Our path; none where no rule fits.
  std::optional<std::string> apply(const std::string& theirs) const;
  /// The same; without any rules the path itself. Throws ConfigError where no rule fits.
  std::string require(const std::string& theirs) const;

 private:
  struct Rule {
    std::regex theirs;
    std::string ours;
  };
  std::vector<Rule> rules_;
  std::string source_;
};

}  // namespace axle
