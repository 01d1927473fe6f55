// The files of eval-layer, with another framework's names turned into ours.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/tree.h"
#include "inspect/rename.h"
#include "ir/host_tensor.h"

namespace axle {

struct EvalLayerFiles {
  /// By our paths; none where no file was named.
  std::optional<Tree<HostTensor>> params;
  /// "in/<our name>", "state/...", "cotangent/...".
  Tree<HostTensor> inputs;
  /// From ours to theirs: "params/<path>" and "in/<name>".
  std::map<std::string, std::string> theirs;

  /// Results of eval_layer with gradients (and "init_params/") under the names that the files have.
  Tree<HostTensor> with_their_names(Tree<HostTensor> results) const;
};

/// Reads "params/<path>" of `params_path` (empty: no file) and "in/", "state/", "cotangent/" of
/// `inputs_path`; what else the files hold is left alone, so that both may be one. Rules apply to
/// paths of parameters, where they must all fit, and to "in/<name>", where they may. Throws
/// ConfigError for missing files, StorageError for damaged ones.
EvalLayerFiles read_eval_layer_files(const std::string& inputs_path, const std::string& params_path,
                                     const RenameRules& rules);

/// A text file that the user names. Throws ConfigError if there is none.
std::string read_user_file(const std::string& path);

}  // namespace axle
