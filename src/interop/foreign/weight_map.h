// Which tensors of another program hold the parameters of a model, both ways.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "ir/code_scheme.h"
#include "ir/host_tensor.h"
#include "nn/param.h"

namespace axle {

/// A matrix as codes: its parts by their names (parts_of). Neighbours in a row are a group.
struct StoredCodes {
  CodeScheme scheme;
  Tree<HostTensor> parts;  // [rows, columns / numbers of an element]
};

/// Names are the ones in Hugging Face's files, for any format.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// Returns the names, sorted.
  virtual std::vector<std::string> names() const = 0;
  /// Throws as get() does for a name that is not among names().
  virtual Type type(const std::string& name) const = 0;
  /// Throws StorageError or DataError for a tensor that cannot be read.
  virtual HostTensor get(const std::string& name) const = 0;
  /// Whether rows of this tensor can be read without the rest.
  virtual bool reads_parts(const std::string&) const { return false; }
  /// Fills `part`, which has the dtype of the tensor, with its elements from `first` on: whole rows
  /// of the tensor, or all of a vector. Threads may read at the same time. Throws as get() does.
  virtual void read_part(const std::string& name, int64_t first, HostTensor& part) const;
  /// Returns how a matrix is stored as codes, without reading it; none if it is stored otherwise.
  virtual std::optional<CodeScheme> scheme(const std::string&) const { return std::nullopt; }
  /// Returns the codes of a matrix that has a scheme, and reads each byte of it once.
  virtual StoredCodes codes(const std::string& name) const;
  /// Returns the name in the file, for messages; also of a tensor that is missing.
  virtual std::string name_in_file(const std::string& name) const { return name; }
  /// The file or folder, for messages.
  virtual const std::string& where() const = 0;
};

/// How the other program stores a parameter.
enum class Storage {
  /// In the same order. A parameter of several dims is a matrix whose rows are its first dim.
  kSame,
  /// As a matrix whose columns are the first dim of the parameter: [outputs, inputs].
  kTransposed,
  /// As one vector.
  kVector,
  /// As filters of a channel each, [channels, 1, width], of a parameter [width, channels].
  kFilters
};

/// One parameter, or the parameters of all layers that are stacked.
struct WeightRow {
  /// The path of the parameter below the model: "decoder/emb/weight". Rows whose parameter the
  /// model does not have are left out.
  std::string ours;
  /// The name of the tensor. {layer} and {expert} stand for the number of a layer and of an expert;
  /// the parameter has a leading dim for each. Rows of one name are the parts of one tensor, in
  /// their order: parts of its outputs.
  std::string theirs;
  Storage storage = Storage::kSame;
  /// The number of the first stacked layer, and the distance to the next one.
  int64_t first_layer = 0, layer_stride = 1;
  /// The outputs lie in this many groups, one per head, and the rows of one name take turns: the
  /// first group of each, the second group of each, and so on.
  int64_t num_groups = 1;
};

/// Appends rows whose paths and names begin alike.
class WeightRows {
 public:
  /// All three must outlive this.
  WeightRows(std::vector<WeightRow>& rows, std::string_view ours, std::string_view theirs)
      : rows_(rows), ours_(ours), theirs_(theirs) {}
  void add(std::string_view ours, std::string_view theirs, Storage storage) const;
  /// The weight of a linear map, stored so, and its bias.
  void linear(const std::string& ours, const std::string& theirs, Storage storage) const;
  /// The scale of a norm and its bias.
  void norm(const std::string& ours, const std::string& theirs) const;

 private:
  std::vector<WeightRow>& rows_;
  std::string_view ours_, theirs_;
};

/// Says how a set of parameters is stored.
class WeightMap {
 public:
  /// Takes the rows whose parameters are in `specs` (paths below the model). Throws InternalError
  /// for a parameter without a row, or with two.
  WeightMap(const std::vector<WeightRow>& rows, Tree<ParamSpec> specs);

  /// Reads all parameters, piece by piece, in the dtypes of their specs. Throws DataError with a
  /// line for each tensor that is missing, of another shape, not finite, or with numbers too large
  /// for its dtype, and for each one that no row names and `unused` does not hold. Throws Error
  /// with kDoesNotFit if the host lacks the memory.
  Tree<HostTensor> read(const TensorSource& source,
                        const std::vector<std::string>& unused = {}) const;

  /// Returns the tensors that hold the parameters, in this dtype, by their names.
  Tree<Type> types(DType dtype) const;
  /// Returns the names of those that hold one of these parameters, or a part of one.
  std::set<std::string> names_of(const std::set<std::string>& paths) const;
  /// Returns one of them, made of `parameters`, which have the shapes of the specs. Elements of
  /// another dtype are rounded. Throws DataError that names the tensor for a number too large.
  HostTensor tensor(const std::string& name, const Tree<HostTensor>& parameters, DType dtype) const;

 private:
  /// A parameter, or a slice of one, in a tensor.
  struct Part {
    std::string path;
    int64_t slice = 0;  // number among the stacked ones
    Storage storage = Storage::kSame;
    int64_t rows = 0, columns = 0;  // as a matrix; a vector has one row
    bool is_vector = false;
    int64_t group = 0, num_groups = 1;  // of the columns of the slice

    MatrixWindow window() const {
      const int64_t stride = columns * num_groups;
      return {slice * rows * stride + group * columns, stride};
    }
  };
  void add(const WeightRow& row, const ParamSpec& spec);
  /// Copies tensors to their offsets in `out`, which has all parameters; an empty one takes none.
  /// Returns what is wrong with numbers, by the name of the tensor.
  std::map<std::string, std::string> read_into(const TensorSource& source,
                                               const std::vector<std::string>& names,
                                               Tree<HostTensor>& out) const;
  /// Puts rows of a tensor, in the dtype of its parameters, into `out`, from row `first` on.
  void put(const std::vector<Part>& parts, int64_t first, HostTensor rows,
           Tree<HostTensor>& out) const;
  Shape shape_of(const std::vector<Part>& parts) const;
  /// Whether the rows of the stored matrix are columns of the parameter.
  static bool transposes(const Part& part);

  Tree<ParamSpec> specs_;
  std::map<std::string, std::vector<Part>> parts_;  // by the name of the tensor
};

}  // namespace axle
