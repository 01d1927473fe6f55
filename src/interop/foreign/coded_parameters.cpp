#include "interop/foreign/coded_parameters.h"

#include <algorithm>
#include <map>

#include "interop/foreign/change_scheme.h"

namespace axle {
namespace {

using CodesByName = std::map<std::string, StoredCodes>;

// One part of the codes of some tensors, as tensors of their own. Each is given once.
class PartView final : public TensorSource {
 public:
  PartView(const TensorSource& source, CodesByName& codes, const CodePart& part)
      : source_(source), codes_(codes), part_(part) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, codes] : codes_) out.push_back(name);
    return out;
  }
  Type type(const std::string& name) const override { return own(name).type(); }
  HostTensor get(const std::string& name) const override { return std::move(own(name)); }
  std::string name_in_file(const std::string& name) const override {
    return source_.name_in_file(name);
  }
  const std::string& where() const override { return source_.where(); }

 private:
  HostTensor& own(const std::string& name) const {
    return codes_.at(name).parts.at(std::string(part_.name));
  }
  const TensorSource& source_;
  CodesByName& codes_;
  const CodePart& part_;
};

// Some tensors of another source.
class NamedView final : public TensorSource {
 public:
  NamedView(const TensorSource& source, std::vector<std::string> names)
      : source_(source), names_(std::move(names)) {}
  std::vector<std::string> names() const override { return names_; }
  Type type(const std::string& name) const override { return source_.type(name); }
  HostTensor get(const std::string& name) const override { return source_.get(name); }
  std::string name_in_file(const std::string& name) const override {
    return source_.name_in_file(name);
  }
  const std::string& where() const override { return source_.where(); }

 private:
  const TensorSource& source_;
  std::vector<std::string> names_;
};

// The spec of a part of codes, one in a byte: it lies as the weight does, with fewer inputs.
ParamSpec spec_of(const CodeForm& form, const CodePart& part, const ParamSpec& weight) {
  ParamSpec out = weight;
  const Shape own = form.unpacked_dims_of(part);
  out.shape.resize(weight.shape.size() - form.weight_dims.size());
  out.shape.insert(out.shape.end(), own.begin(), own.end());
  out.mesh_axes.resize(out.shape.size());
  out.dtype = part.dtype;
  return out;
}

std::vector<std::string> names_in(const WeightMap& map, const TensorSource& source) {
  const std::vector<std::string> all = source.names();
  std::vector<std::string> out;
  for (const auto& [name, type] : map.types(DType::kF32)) {
    if (std::ranges::binary_search(all, name)) out.push_back(name);
  }
  return out;
}

// The codes of all tensors in the product's scheme; none if it does not hold those of one.
std::optional<CodesByName> codes_of(const std::vector<std::string>& names,
                                    const TensorSource& source, const CodeScheme& wanted) {
  CodesByName out;
  for (const std::string& name : names) {
    auto own = in_scheme(source.codes(name), wanted);
    if (!own) return std::nullopt;
    out.emplace(name, std::move(*own));
  }
  return out;
}

}  // namespace

std::optional<CodeScheme> stored_scheme(const CodeForm& form, const std::string& path,
                                        const ParamSpec& weight, const std::vector<WeightRow>& rows,
                                        const TensorSource& source) {
  // A row of a tensor must hold the inputs.
  const CodePart codes = parts_of(form.scheme)[0];
  const Tree<Type> types =
      WeightMap(rows, {{path, spec_of(form, codes, weight)}}).types(codes.dtype);
  const std::vector<std::string> all = source.names();
  std::optional<CodeScheme> out;
  for (const auto& [name, type] : types) {
    if (!std::ranges::binary_search(all, name)) continue;
    const std::optional<CodeScheme> own = source.scheme(name);
    const bool fits = own && source.type(name).dims == type.dims && type.dims[1] == form.inputs();
    if (!fits) return std::nullopt;
    out = out ? joined(*out, *own) : *own;
  }
  return out;
}

CodesRead read_codes(const QuantizedProduct& product, const std::string& path,
                     const ParamSpec& weight, const std::vector<WeightRow>& rows,
                     const TensorSource& source) {
  const CodeForm& form = product.form();
  ParamSpec wide = weight;
  wide.dtype = DType::kF32;
  const WeightMap map(rows, {{path, wide}});
  CodesRead out{.parameters = {}, .names = names_in(map, source)};
  Tree<HostTensor> parameters;
  const auto stored = stored_scheme(form, path, weight, rows, source);
  std::optional<CodesByName> codes;
  if (stored && holds(form.scheme, *stored)) codes = codes_of(out.names, source, form.scheme);
  if (codes) {
    Tree<HostTensor> parts;
    for (const CodePart& part : parts_of(form.scheme)) {
      const WeightMap of_part(rows, {{path, spec_of(form, part, weight)}});
      parts.emplace(part.name, of_part.read(PartView(source, *codes, part)).at(path));
    }
    product.put_in(parameters, std::move(parts));
  } else {
    parameters.emplace(product.weight_path(), map.read(NamedView(source, out.names)).at(path));
    product.encode_in(parameters);
    out.is_rounded = true;
  }
  out.parameters = subtree(parameters, "model");
  return out;
}

}  // namespace axle
