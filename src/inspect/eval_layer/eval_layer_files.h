// Reads the files of eval-layer, and translates another framework's names into ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tree.h"
#include "inspect/eval_layer/rename.h"
#include "io/safetensors.h"

namespace axle {

/// The sections of the file of inputs that a kind of subject reads: "in" stands for names like
/// "in/x".
struct InputSections {
  std::vector<std::string> read;
  /// Sections to ignore if the file also holds parameters or reference results. "" stands for all
  /// names without "/".
  std::vector<std::string> ignored;
};

struct EvalLayerFiles {
  /// By our paths; none if no file was named.
  std::optional<Tree<HostTensor>> params;
  /// By our names, including the section.
  Tree<HostTensor> inputs;
  /// Maps our names to those of the files, for paths of parameters and for "in/<name>".
  std::map<std::string, std::string> file_names;

  /// Returns the results with parameters and inputs named as in the files.
  Tree<HostTensor> with_file_names(Tree<HostTensor> results) const;
};

/// Paths given by the flags; empty: no file.
struct EvalLayerPaths {
  std::string inputs, params, compare;
};

/// Reads the `sections` of the file of inputs, and "params/<path>" of the file of parameters; if
/// there are none, its "init/<path>". Throws ConfigError for two tensors that get the same name and
/// for inputs that nothing reads; DataError for files that are missing, damaged or of another kind.
EvalLayerFiles read_eval_layer_files(const EvalLayerPaths& paths, const RenameRules& rules,
                                     const InputSections& sections);

/// Opens a safetensors file that the user named. Throws DataError if it does not exist, is damaged
/// or is of another kind.
SafetensorsFile open_tensor_file(const std::string& path);
/// Reads a tensor of such a file. Throws DataError for a dtype that Axle does not have.
HostTensor read_tensor(const SafetensorsFile& file, const std::string& name);
/// Reads a text file that the user named. Throws ConfigError if it does not exist.
std::string read_user_file(const std::string& path);

}  // namespace axle
