// The files of eval-layer, with another framework's names turned into ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "inspect/eval_layer/rename.h"
#include "io/safetensors.h"

namespace axle {

/// What a kind of module takes of the file of inputs: "in" reads "in/x".
struct InputSections {
  std::vector<std::string> read;
  /// Left alone in a file that is also that of parameters or of the reference: what such a file
  /// holds beside inputs; "" stands for all names without "/".
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

/// Paths of the flags; an empty one: no file.
struct EvalLayerPaths {
  std::string inputs, params, compare;
};

/// Reads what `sections` names of the file of inputs, and "params/<path>" of the file of
/// parameters, without any "init/<path>". Throws ConfigError for missing files, two names that are
/// one of ours, and inputs that nothing reads; DataError for damaged files.
EvalLayerFiles read_eval_layer_files(const EvalLayerPaths& paths, const RenameRules& rules,
                                     const InputSections& sections);

/// A safetensors file that the user names. Throws ConfigError if there is none, DataError if it is
/// damaged.
SafetensorsFile open_tensor_file(const std::string& path);
/// A tensor of such a file. Throws DataError for a dtype that Axle does not have.
HostTensor read_tensor(const SafetensorsFile& file, const std::string& name);
/// A text file that the user names. Throws ConfigError if there is none.
std::string read_user_file(const std::string& path);

}  // namespace axle
