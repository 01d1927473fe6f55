#include "interop/foreign/coded_parameters.h"

#include <algorithm>
#include <map>

#include "ir/finite.h"

namespace axle {
namespace {

// What a view shows of the tensors.
enum class Shown { kNumbers, kScales, kOffsets };

// Some tensors of another source, or the scales or offsets of their groups, repeated for groups of
// `group` neighbours.
class TensorView final : public TensorSource {
 public:
  TensorView(const TensorSource& source, std::vector<std::string> names,
             const std::map<std::string, StoredGroups>& groups, Shown shown, int64_t group)
      : source_(source), names_(std::move(names)), groups_(groups), shown_(shown), group_(group) {}

  std::vector<std::string> names() const override { return names_; }
  Type type(const std::string& name) const override {
    Type out = source_.type(name);
    if (shown_ != Shown::kNumbers) out = {DType::kF32, {out.dims[0], out.dims[1] / group_}};
    return out;
  }
  HostTensor get(const std::string& name) const override {
    if (shown_ == Shown::kNumbers) return source_.get(name);
    const StoredGroups& stored = groups_.at(name);
    const HostTensor& own = shown_ == Shown::kScales ? stored.scales : stored.offsets;
    const int64_t copies = stored.size / group_;
    if (copies == 1) return own;
    HostTensor out(type(name));
    for (int64_t i = 0; i < out.size(); ++i)
      out.values<float>()[static_cast<size_t>(i)] =
          own.values<float>()[static_cast<size_t>(i / copies)];
    return out;
  }
  std::string name_in_file(const std::string& name) const override {
    return source_.name_in_file(name);
  }
  const std::string& where() const override { return source_.where(); }

 private:
  const TensorSource& source_;
  std::vector<std::string> names_;
  const std::map<std::string, StoredGroups>& groups_;
  Shown shown_;
  int64_t group_;
};

bool fits(const StoredGroups& stored, const QuantizedProduct& product) {
  const DType own = product.scale_dtype();
  const bool has_room =
      own == DType::kF32 || (own == stored.scale_dtype && all_finite(stored.scales.astype(own)) &&
                             all_finite(stored.offsets.astype(own)));
  return has_room && stored.bits <= product.form().bits && stored.size % product.form().group == 0;
}

// The groups of all tensors; none if the product cannot keep those of one.
std::map<std::string, StoredGroups> groups_of(const std::vector<std::string>& names,
                                              const TensorSource& source,
                                              const QuantizedProduct& product) {
  std::map<std::string, StoredGroups> out;
  for (const std::string& name : names) {
    auto stored = source.groups(name);
    if (!stored || !fits(*stored, product)) return {};
    out.emplace(name, std::move(*stored));
  }
  return out;
}

// The spec of the scales: they lie as the weight does, with fewer inputs.
ParamSpec spec_of_scales(const CodeForm& form, const ParamSpec& weight) {
  ParamSpec out = weight;
  const Shape own = form.scale_dims();
  out.shape.resize(weight.shape.size() - form.weight_dims.size());
  out.shape.insert(out.shape.end(), own.begin(), own.end());
  out.mesh_axes.resize(out.shape.size());
  return out;
}

}  // namespace

CodesRead read_codes(const QuantizedProduct& product, const std::string& path,
                     const ParamSpec& weight, const std::vector<WeightRow>& rows,
                     const TensorSource& source) {
  ParamSpec wide = weight;
  wide.dtype = DType::kF32;
  const WeightMap map(rows, {{path, wide}});
  const std::vector<std::string> all = source.names();
  std::vector<std::string> names;
  for (const auto& [name, type] : map.types(DType::kF32)) {
    if (std::ranges::binary_search(all, name)) names.push_back(name);
  }
  const auto groups = groups_of(names, source, product);
  const auto read = [&](const WeightMap& from, Shown shown) {
    return from.read(TensorView(source, names, groups, shown, product.form().group)).at(path);
  };
  Tree<HostTensor> out;
  HostTensor numbers = read(map, Shown::kNumbers);
  if (groups.empty()) {
    out.emplace(product.weight_path(), std::move(numbers));
    product.encode_in(out);
  } else {
    const WeightMap of_scales(rows, {{path, spec_of_scales(product.form(), wide)}});
    product.encode_in(out, numbers, read(of_scales, Shown::kScales),
                      read(of_scales, Shown::kOffsets));
  }
  return {
      .parameters = subtree(out, "model"), .names = std::move(names), .is_rounded = groups.empty()};
}

}  // namespace axle
