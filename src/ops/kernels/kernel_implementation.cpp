#include "ops/kernels/kernel_implementation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace axle {
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
