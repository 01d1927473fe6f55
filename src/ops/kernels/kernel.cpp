#include "ops/kernels/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/error.h"
#include "ir/op_rules.h"

namespace axle {
namespace {

std::string mlir_value(bool value) { return value ? "true" : "false"; }
std::string mlir_value(int64_t value) { return fmt::format("{} : i64", value); }
std::string mlir_value(double value) {
  return fmt::format("0x{:016X} : f64", std::bit_cast<uint64_t>(value));
}
std::string mlir_value(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 32 || byte > 126)
      out += fmt::format("\\{:02X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

std::string mlir_entries(const KernelAttributes& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes.values) {
    if (!out.empty()) out += ", ";
    out += name + " = " + std::visit([](const auto& v) { return mlir_value(v); }, value);
  }
  return out;
}

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

namespace {

std::vector<const KernelImplementation*>& registry() {
  static std::vector<const KernelImplementation*> rows;
  return rows;
}

// Why the row can't take the call, "" if it can.
std::string refusal(const KernelImplementationRow& row, const KernelQuery& query,
                    const LoweringTarget& target) {
  if (row.host && !target.no_host_kernels.empty()) return target.no_host_kernels;
  return row.refuses ? row.refuses(query) : "";
}

}  // namespace

KernelImplementation::KernelImplementation(KernelImplementationRow row) : row_(row) {
  AXLE_CHECK((row.host != nullptr) != (row.hlo != nullptr),
             fmt::format("kernel {} for {}: expected a host kernel or a lowering rule", row.kernel,
                         row.platform));
  for (const KernelImplementation* other : registry()) {
    AXLE_CHECK(other->row().kernel != row.kernel || other->row().platform != row.platform ||
                   other->row().version != row.version,
               fmt::format("kernel {} for {}: expected one implementation of version {}, got two",
                           row.kernel, row.platform, row.version));
  }
  registry().push_back(this);
}

std::string KernelImplementation::text() const {
  return fmt::format("{} kernel {}", row_.host ? "host" : row_.platform, row_.version);
}

KernelSelection select_kernel(std::string_view kernel, const KernelQuery& query,
                              const LoweringTarget& target) {
  std::vector<const KernelImplementation*> rows, elsewhere;
  for (const KernelImplementation* i : registry()) {
    if (i->row().kernel == kernel)
      (i->row().platform == target.platform ? rows : elsewhere).push_back(i);
  }
  std::ranges::sort(rows, std::greater(), [](const auto* i) { return i->row().version; });
  if (rows.empty()) {
    std::vector<std::string> platforms;
    for (const KernelImplementation* i : elsewhere) platforms.emplace_back(i->row().platform);
    std::ranges::sort(platforms);
    platforms.erase(std::unique(platforms.begin(), platforms.end()), platforms.end());
    std::string names;
    for (const std::string& name : platforms) names += (names.empty() ? "" : ", ") + name;
    return {.reason = fmt::format(
                "it has no implementation for {}{}", target.platform,
                names.empty() ? ", nor for any platform" : " (only for " + names + ")")};
  }
  KernelSelection out;
  for (const KernelImplementation* i : rows) {
    const std::string reason = refusal(i->row(), query, target);
    if (reason.empty()) return {.implementation = i};
    out.reason += fmt::format("{}{}: {}", out.reason.empty() ? "" : "; ", i->text(), reason);
  }
  return out;
}

HloValues write_kernel(const KernelImplementation& implementation, const KernelQuery& query,
                       HloBuilder& b, const HloValues& operands) {
  const KernelImplementationRow& row = implementation.row();
  if (row.hlo) return row.hlo(query, b, operands);
  const std::string entries = mlir_entries(query.attributes);
  const std::string config =
      fmt::format("{} = \"{}\", {} = {} : i64{}{}", kKernelNameAttribute, row.kernel,
                  kKernelVersionAttribute, row.version, entries.empty() ? "" : ", ", entries);
  const auto layouts = [](const std::vector<Type>& types) {
    std::string out;
    for (const Type& type : types) {
      std::string order;  // the dims, the innermost first
      for (int64_t i = type.rank(); i-- > 0;) order += fmt::format("{}{}", i, i > 0 ? ", " : "");
      if (!order.empty()) order = "[" + order + "]";
      out += fmt::format("{}dense<{}> : tensor<{}xindex>", out.empty() ? "" : ", ", order,
                         type.rank());
    }
    return "[" + out + "]";
  };
  return b.op(
      "stablehlo.custom_call", operands, query.results,
      fmt::format("api_version = 4 : i32, backend_config = {{{}}}, call_target_name = "
                  "\"{}\", operand_layouts = {}, result_layouts = {}",
                  config, kHostKernelTarget, layouts(query.operands), layouts(query.results)));
}

HostKernel find_host_kernel(std::string_view kernel, int64_t version) {
  for (const KernelImplementation* i : registry()) {
    if (i->row().kernel == kernel && i->row().version == version && i->row().host)
      return i->row().host;
  }
  return nullptr;
}

}  // namespace axle
