#include "ops/kernels/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

// The dims of each value, written out: '*' becomes characters below ' '.
std::vector<std::string> expanded(std::string_view list, const std::vector<Type>& types,
                                  std::string_view dims) {
  const auto refuse = [&] {
    shape_error("kernel",
                fmt::format("expected values of the dims '{}', got {}", dims, to_text(types)));
  };
  std::vector<std::string> out;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    std::string own(list.substr(at, end - at));
    std::erase(own, ' ');
    const size_t i = out.size();
    if (i < types.size() && own.starts_with('*')) {
      std::string leading;
      for (int64_t d = std::ssize(own) - 1; d < types[i].rank(); ++d)
        leading += static_cast<char>(1 + std::ssize(leading));
      own = leading + own.substr(1);
    }
    if (i >= types.size() || std::ssize(own) != types[i].rank()) refuse();
    out.push_back(own);
    at = end + 1;
  }
  if (out.size() != types.size()) refuse();
  return out;
}

}  // namespace

KernelPartition partition_kernel(std::string_view dims, const std::vector<Type>& operands,
                                 const std::vector<Type>& results,
                                 const std::vector<PartitionSpec>& specs, const Mesh& mesh) {
  const size_t arrow = dims.find("->");
  AXLE_CHECK(arrow != std::string_view::npos, "the dims of a kernel have an arrow");
  const auto in = expanded(dims.substr(0, arrow), operands, dims);
  const auto out = expanded(dims.substr(arrow + 2), results, dims);
  std::map<char, DimAxes> axes_of;
  std::vector<std::string> used;
  for (size_t i = 0; i < in.size() && i < specs.size(); ++i) {
    const PartitionSpec spec = restrict(specs[i], operands[i].dims, mesh);
    for (size_t d = 0; d < std::min(in[i].size(), spec.dims.size()); ++d) {
      const char letter = in[i][d];
      if (letter == '.' || spec.dims[d].empty() || spec.dims[d] == kUnconstrained) continue;
      const bool is_taken = std::ranges::any_of(
          spec.dims[d], [&](const auto& axis) { return std::ranges::count(used, axis) > 0; });
      if (is_taken || !axes_of.try_emplace(letter, spec.dims[d]).second) continue;
      used.insert(used.end(), spec.dims[d].begin(), spec.dims[d].end());
    }
  }
  const auto specs_of = [&](const std::vector<std::string>& values) {
    std::vector<PartitionSpec> made;
    for (const std::string& value : values) {
      made.emplace_back();
      for (const char letter : value) {
        const auto it = axes_of.find(letter);
        made.back().dims.push_back(it == axes_of.end() ? DimAxes() : it->second);
      }
    }
    return made;
  };
  return {specs_of(in), specs_of(out)};
}

}  // namespace axle
