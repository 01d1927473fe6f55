// Translates another framework's names into ours: the file of `eval-layer --rename`.
//
//   # theirs -> ours; the first line that matches the whole path counts
//   i_proj/(*)_proj/weight    -> qkv/$1_proj/weight       # $1, $2, ...: the parts in parentheses
//   (**)/linear(1|2)/(*)      -> $1/body/linear$2/$3      # ** also matches "/"
//   in/query                  -> in/x                     # other tensors by their whole names
//   batches/ids               -> batches/input_ids
//   out                       -> out/loss
//   **/rotary/cos             -> none                     # leaves the tensor out
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/eval_layer/path_pattern.h"

namespace axle {

/// Returns the length of the part before the path of a parameter: 7 for "params/decoder/weight", 9
/// for "param/19/w", 0 for names of other tensors.
size_t parameter_prefix(std::string_view name);

/// Ordered rules that map names to names (PathPattern). Some rules apply to whole names: those
/// whose right side begins with a section ("in/x", "out", "state/..."), and those to `none` whose
/// left side begins with one. All other rules apply to paths of parameters, in every section that
/// holds parameters.
class RenameRules {
 public:
  RenameRules() = default;
  /// Parses one rule a line; "#" begins a comment. Throws ConfigError "<source>:<line>: ...".
  RenameRules(std::string_view text, const std::string& source);

  /// Returns our path of a parameter; none if a rule leaves it out. Throws ConfigError if there are
  /// rules for paths and none matches.
  std::optional<std::string> parameter(const std::string& theirs) const;
  /// Translates only the section of a name in a file: the path of a parameter in it stays theirs.
  /// Returns none if a rule leaves the tensor out.
  std::optional<std::string> section_name(const std::string& theirs) const;
  /// Returns our name of a tensor in a file, including its section; none if a rule leaves it out.
  /// Throws as parameter() does.
  std::optional<std::string> tensor(const std::string& theirs) const;

 private:
  struct Rule {
    PathPattern theirs;
    std::string ours;
    bool for_whole_names;
  };
  enum class Among { kWholeNames, kParameters };
  // Returns what the first matching rule gives, which may be "none"; none if no rule matches.
  std::optional<std::string> apply(Among among, const std::string& theirs) const;

  std::vector<Rule> rules_;
  bool renames_parameters_ = false;
  std::string source_;
};

}  // namespace axle
