// The tensors of a model, some of which come from another file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/foreign/tensor_source.h"

namespace axle {

class ReplacedTensors final : public TensorSource {
 public:
  /// The tensors of `own` take the place of those of `base`, or stand beside them. `base` may lack
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
  struct Place {
    const TensorSource* source;
    std::string name;
  };
  const Place& place(const std::string& name) const;

  const TensorSource &base_, &own_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> own_names_;  // in `own_`
};

}  // namespace axle
