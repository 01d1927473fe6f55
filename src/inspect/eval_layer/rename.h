// Another framework's names as ours: the file of `eval-layer --rename`.
//
//   # theirs -> ours, the first line that fits the whole path counts
//   i_proj/(*)_proj/weight    -> qkv/$1_proj/weight       # $1, $2, ... are the parts in
//   parentheses
//   (**)/linear(1|2)/(*)      -> $1/body/linear$2/$3      # ** goes past "/"
//   in/query                  -> in/x                     # other tensors by their whole names
//   batches/ids               -> batches/input_ids
//   out                       -> out/loss
//   **/rotary/cos             -> none                     # leaves it out
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/eval_layer/path_pattern.h"

namespace axle {

/// The length of the part before the path of a parameter: 7 of "params/decoder/weight",
/// "param/19/w" has 9; 0 for names of other tensors.
size_t parameter_prefix(std::string_view name);

/// Whether the name's first segment is a section of eval-layer's files.
bool has_section(std::string_view name);

/// Ordered rules from names to names (PathPattern). A rule whose right side begins with a section
/// ("in/x", "out", "state/...") is for whole names, and so is one to `none` whose left side does;
/// the others are for paths of parameters, in every section that has some.
class RenameRules {
 public:
  RenameRules() = default;
  /// Throws ConfigError "<source>:<line>: ...".
  RenameRules(std::string_view text, const std::string& source);

  /// Our path of a parameter; none where a rule leaves it out. Throws ConfigError where there are
  /// rules for paths and none fits.
  std::optional<std::string> parameter(const std::string& theirs) const;
  /// A name of a file with our section, but the path of its parameter still theirs; none where a
  /// rule leaves it out.
  std::optional<std::string> section_name(const std::string& theirs) const;
  /// Our name of a tensor of a file, its section included; none where a rule leaves it out. Throws
  /// as parameter() does.
  std::optional<std::string> tensor(const std::string& theirs) const;

 private:
  struct Rule {
    PathPattern theirs;
    std::string ours;
    bool for_whole_names;
  };
  enum class Among { kWholeNames, kParameters };
  // What the first rule that fits makes of it, "none" included; none where no rule fits.
  std::optional<std::string> apply(Among among, const std::string& theirs) const;

  std::vector<Rule> rules_;
  bool renames_parameters_ = false;
  std::string source_;
};

}  // namespace axle
