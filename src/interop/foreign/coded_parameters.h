// Weights of another program that a model keeps as codes (QuantizedProduct).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/foreign/weight_map.h"
#include "layers/products/quantized_product.h"

namespace axle {

/// Returns the same numbers in a scheme that can represent `stored` (holds()); none if f16 cannot
/// hold an offset.
std::optional<StoredCodes> in_scheme(StoredCodes stored, const CodeScheme& wanted);

/// The parts of a weight by their paths below the model, the names of the tensors that they are
/// from, and whether they represent other numbers than the file holds.
struct CodesRead {
  Tree<HostTensor> parameters;
  std::vector<std::string> names;
  bool is_rounded = false;
};
/// Reads the weight of a product of a model at "model", one tensor at a time. `path` is that of the
/// weight below the model. The codes are the numbers of the file if the product's scheme can
/// represent them. Otherwise the weight is rounded again. `weight` is the spec of the weight,
/// `rows` say where it is. Throws as WeightMap::read does.
CodesRead read_codes(const QuantizedProduct& product, const std::string& path,
                     const ParamSpec& weight, const std::vector<WeightRow>& rows,
                     const TensorSource& source);

/// Returns the scheme that holds all tensors of a weight of this form; none if there are none, or
/// if one has no scheme, or rows that are not the inputs. The form's own scheme is no matter.
std::optional<CodeScheme> stored_scheme(const CodeForm& form, const std::string& path,
                                        const ParamSpec& weight, const std::vector<WeightRow>& rows,
                                        const TensorSource& source);

class ReplacedTensors final : public TensorSource {
 public:
  /// The tensors of `own` replace tensors of `base`, or are added to them. `base` may lack
  /// the prefix that names of `own` begin with. Both must outlive this.
  ReplacedTensors(const TensorSource& base, const TensorSource& own, const std::string& prefix);

  /// Whether a tensor comes from `own`.
  bool replaces(const std::string& name) const { return own_names_.contains(name); }
  /// Takes a tensor out.
  void hide(const std::string& name);
  /// Adds a tensor that is the same as another one, or as the one that `base` has.
  void copy(const std::string& name, const std::string& of);
  void copy_of_base(const std::string& name, const std::string& of);

  std::vector<std::string> names() const override;
  Type type(const std::string& name) const override;
  HostTensor get(const std::string& name) const override;
  bool reads_parts(const std::string& name) const override;
  void read_part(const std::string& name, int64_t first, HostTensor& part) const override;
  std::optional<CodeScheme> scheme(const std::string& name) const override;
  StoredCodes codes(const std::string& name) const override;
  std::string name_in_file(const std::string& name) const override;
  const std::string& where() const override { return base_.where(); }

 private:
  struct Origin {
    const TensorSource* source;
    std::string name;
  };
  const Origin& origin(const std::string& name) const;

  const TensorSource &base_, &own_;
  std::map<std::string, Origin> origins_;
  std::map<std::string, std::string> own_names_;  // in `own_`
};

}  // namespace axle
