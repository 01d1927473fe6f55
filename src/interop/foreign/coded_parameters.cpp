#include "interop/foreign/coded_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/dtype.h"
#include "ir/host_tensor.h"

namespace axle {
namespace {

// Each column `copies` times.
template <class T>
HostTensor repeated_columns(const HostTensor& x, int64_t copies) {
  HostTensor out(Type{x.dtype(), {x.shape()[0], x.shape()[1] * copies}});
  const std::span<const T> from = x.values<T>();
  const std::span<T> to = out.values<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i / static_cast<size_t>(copies)];
  return out;
}

HostTensor repeated(HostTensor x, int64_t copies) {
  if (copies == 1) return x;
  switch (x.dtype()) {
    case DType::kI8:
      return repeated_columns<int8_t>(x, copies);
    case DType::kF16:
      return repeated_columns<F16>(x, copies);
    default:
      return repeated_columns<float>(x, copies);
  }
}

// f32 numbers of groups.
HostTensor widened(const HostTensor& own, const HostTensor* shared) {
  HostTensor out = own.astype(DType::kF32);
  if (!shared) return out;
  const std::span<const F16> blocks = shared->values<F16>();
  const std::span<float> to = out.values<float>();
  const size_t of_block = to.size() / blocks.size();
  for (size_t i = 0; i < to.size(); ++i) to[i] *= static_cast<float>(blocks[i / of_block]);
  return out;
}

HostTensor times(const HostTensor& x, float factor) {
  HostTensor out = x.astype(DType::kF32);
  for (float& value : out.values<float>()) value *= factor;
  return out.astype(x.dtype());
}

void widen(Tree<HostTensor>& parts, std::string_view own, std::string_view block) {
  const auto found = parts.find(own);
  if (found == parts.end()) return;
  const auto shared = parts.find(block);
  found->second = widened(found->second, shared == parts.end() ? nullptr : &shared->second);
  if (shared != parts.end()) parts.erase(shared);
}

// Adds the offsets that stand for the middle: -zero times the scales. A number of 8 bits times a
// power of two stays in the f16 that its block shares.
bool add_offsets(Tree<HostTensor>& parts, int64_t zero) {
  const bool is_small = parts.contains(kBlockScales);
  const std::string_view from = is_small ? kBlockScales : kScales,
                         to = is_small ? kBlockOffsets : kOffsets;
  HostTensor offsets = times(parts.find(from)->second, static_cast<float>(-zero));
  if (!all_finite(offsets)) return false;
  if (is_small) parts.emplace(kOffsets, parts.find(kScales)->second);
  parts.emplace(to, std::move(offsets));
  return true;
}

void add_to(HostTensor& codes, int64_t number) {
  for (uint8_t& code : codes.values<uint8_t>()) code = static_cast<uint8_t>(code + number);
}

}  // namespace

std::optional<StoredCodes> in_scheme(StoredCodes stored, const CodeScheme& wanted) {
  AXLE_CHECK(holds(wanted, stored.scheme), "a scheme that holds the codes");
  Tree<HostTensor>& parts = stored.parts;
  if (wanted.scales != stored.scheme.scales) {
    widen(parts, kScales, kBlockScales);
    widen(parts, kOffsets, kBlockOffsets);
  }
  if (wanted.offsets == OffsetForm::kMiddle)
    add_to(parts.find(kCodes)->second, wanted.zero() - stored.scheme.zero());
  else if (stored.scheme.offsets == OffsetForm::kMiddle &&
           !add_offsets(parts, stored.scheme.zero()))
    return std::nullopt;
  for (const std::string_view name : {kScales, kOffsets}) {
    const auto part = parts.find(name);
    if (part != parts.end())
      part->second = repeated(std::move(part->second), stored.scheme.group / wanted.group);
  }
  stored.scheme = wanted;
  return stored;
}

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

// The codes of all tensors in the product's scheme; none if it cannot represent one of them.
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

ReplacedTensors::ReplacedTensors(const TensorSource& base, const TensorSource& own,
                                 const std::string& prefix)
    : base_(base), own_(own) {
  for (const std::string& name : base.names()) origins_.emplace(name, Origin{&base, name});
  for (const std::string& name : own.names()) {
    const std::string there = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    origins_.insert_or_assign(there, Origin{&own, name});
    own_names_.emplace(there, name);
  }
}

void ReplacedTensors::hide(const std::string& name) { origins_.erase(name); }

void ReplacedTensors::copy(const std::string& name, const std::string& of) {
  origins_.insert_or_assign(name, origin(of));
}

void ReplacedTensors::copy_of_base(const std::string& name, const std::string& of) {
  origins_.insert_or_assign(name, Origin{&base_, of});
}

const ReplacedTensors::Origin& ReplacedTensors::origin(const std::string& name) const {
  const auto found = origins_.find(name);
  if (found == origins_.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where(), name_in_file(name)));
  return found->second;
}

std::vector<std::string> ReplacedTensors::names() const {
  std::vector<std::string> out;
  for (const auto& [name, origin] : origins_) out.push_back(name);
  return out;
}

Type ReplacedTensors::type(const std::string& name) const {
  const Origin& at = origin(name);
  return at.source->type(at.name);
}

HostTensor ReplacedTensors::get(const std::string& name) const {
  const Origin& at = origin(name);
  return at.source->get(at.name);
}

bool ReplacedTensors::reads_parts(const std::string& name) const {
  const Origin& at = origin(name);
  return at.source->reads_parts(at.name);
}

void ReplacedTensors::read_part(const std::string& name, int64_t first, HostTensor& part) const {
  const Origin& at = origin(name);
  at.source->read_part(at.name, first, part);
}

std::optional<CodeScheme> ReplacedTensors::scheme(const std::string& name) const {
  const Origin& at = origin(name);
  return at.source->scheme(at.name);
}

StoredCodes ReplacedTensors::codes(const std::string& name) const {
  const Origin& at = origin(name);
  return at.source->codes(at.name);
}

std::string ReplacedTensors::name_in_file(const std::string& name) const {
  const auto own = own_names_.find(name);
  if (own == own_names_.end()) return base_.name_in_file(name);
  return fmt::format("{}: {}", own_.where(), own_.name_in_file(own->second));
}

}  // namespace axle
