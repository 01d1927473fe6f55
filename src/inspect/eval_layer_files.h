// The files of eval-layer, with another framework's names turned into ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "inspect/rename.h"
#include "io/safetensors.h"

namespace axle {

/// What a kind of module takes of the file of inputs: "in" reads "in/x".
struct InputSections {
  std::vector<std::string> read;
  /// Left alone: results and parameters that may stand in the same file; "" stands for all names
  /// without "/".
  std::vector<std::string> ignored;
};

struct EvalLayerFiles {
  /// By our paths; none where no file was named.
  std::optional<Tree<HostTensor>> params;
  /// By our names, the section included.
  Tree<HostTensor> inputs;
  /// From ours to theirs: paths of parameters, and "in/<name>".
  std::map<std::string, std::string> theirs;

  /// Results under the names that the files have for their parameters and inputs.
  Tree<HostTensor> with_their_names(Tree<HostTensor> results) const;
};

/// Reads what `sections` names of `inputs_path`, and "params/<path>" of `params_path`, without any
/// "init/<path>"; empty paths: no file. Throws ConfigError for missing files, two names that are
/// one of ours, and names of no section; DataError for damaged files.
EvalLayerFiles read_eval_layer_files(const std::string& inputs_path, const std::string& params_path,
                                     const RenameRules& rules, const InputSections& sections);

/// A safetensors file that the user names. Throws ConfigError if there is none, DataError if it is
/// damaged.
SafetensorsFile open_tensor_file(const std::string& path);
/// A tensor of such a file. Throws DataError for a dtype that Axle does not have.
HostTensor read_tensor(const SafetensorsFile& file, const std::string& name);
/// A text file that the user names. Throws ConfigError if there is none.
std::string read_user_file(const std::string& path);

}  // namespace axle
