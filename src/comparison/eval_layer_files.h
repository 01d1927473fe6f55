// The files of eval-layer: the layer, its tensors, and what is expected.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "comparison/rename.h"
#include "io/safetensors.h"
#include "ir/host_tensor.h"
#include "nn/layer.h"

namespace axle {

/// A layer class with its fields, the dims that a parent would pass, and the options of its
/// slot.
struct LayerFile {
  AnyConfig config, dims;
  LayerOptions options = {};
};

/// Reads a document: {class: Linear, config: {bias: false}, dims: {input_dim: 32, output_dim: 24},
/// "@init": Zeros}. Throws ConfigError naming `source` for unknown classes, fields, dims and
/// options, for a class that is not a layer, and for missing integer dims.
LayerFile read_layer_file(const nlohmann::ordered_json& document, const std::string& source);
/// Builds the layer as the root of the tree: the paths of its own parameters have no prefix.
std::unique_ptr<Layer> build_layer(const LayerFile& file);

/// Returns `given` if its names and shapes match `expected`; tensors of
/// one element may be [] or [1], and get the expected shape. Keeps other dtypes of the same kind
/// (float or not). Throws ConfigError naming every missing, extra and misshapen tensor as
/// "<prefix>/<name>: ..."; DataError if one is missing. `what` describes a tensor in messages: "a
/// parameter of this layer".
Tree<HostTensor> check_given(const Tree<Type>& expected, Tree<HostTensor> given,
                             std::string_view prefix, std::string_view what);

/// Returns `value` reshaped to `shape` if both have one element and at most one dim; else
/// unchanged.
HostTensor as_scalar_like(HostTensor value, const Shape& shape);

/// Casts the floating-point tensors to `dtype`.
void cast_floats(Tree<HostTensor>& tensors, DType dtype);

/// What ids below 0 are: mistakes, or labels that the loss ignores.
enum class NegativeIds { kRefused, kIgnored };
/// Throws ConfigError "<name>: ..." if an id is outside the vocabulary: a lookup would silently use
/// the nearest id.
void check_ids(const std::string& name, const HostTensor& ids, int64_t vocab_size,
               NegativeIds negative = NegativeIds::kRefused);

/// Throws Error with kDoesNotFit and the sizes if the host has no room for tensors of these types,
/// none of which is allocated yet. `what` names them in the message.
void check_tensor_memory(const std::string& what, const Tree<Type>& types);

/// Returns the initial weights: `params`, or "init/<path>" of the inputs; none if neither is given.
/// Throws ConfigError if both are given and differ.
std::optional<Tree<HostTensor>> start_weights(const std::optional<Tree<HostTensor>>& params,
                                              const Tree<HostTensor>& inputs);

/// Throws ConfigError for `names` that nothing read, if there are any. `known` are names to suggest
/// instead.
void fail_unread(const std::vector<std::string>& names, const std::vector<std::string>& known);

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
