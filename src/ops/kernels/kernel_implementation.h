// The registry of kernel implementations: hand-written code for one platform that computes what the
// traced fallback of a kernel computes (transform/kernel/kernel_call.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/hlo_builder.h"
#include "ops/kernels/host_kernel.h"

namespace axle {

/// A call of a kernel that is being lowered. The types are those that one device sees.
struct KernelQuery {
  std::vector<Type> operands;
  std::vector<Type> results;
  const KernelAttributes& attributes;
};

/// An implementation has either a host kernel or a lowering rule.
struct KernelImplementationRow {
  std::string_view kernel;    // its name, "gated_silu"
  std::string_view platform;  // "cpu", "cuda", "tpu", ...
  /// Counts changes of what the implementation computes. It is in the program's text, so it is in
  /// the key of the executable cache. Of several rows that take a call, the highest version runs.
  int64_t version = 1;
  /// Returns why the implementation can't take a call; empty if it can. Null: it takes all calls.
  std::string (*refuses)(const KernelQuery& query) = nullptr;
  /// For targets that can call functions of this process.
  HostKernel host = nullptr;
  /// Writes a custom call that the platform's compiler knows. Its attributes should name the
  /// version.
  HloValues (*hlo)(const KernelQuery& query, HloBuilder& b, const HloValues& operands) = nullptr;
};

/// A row that registers itself when constructed. Rows are constants of static storage.
class KernelImplementation {
 public:
  /// Throws InternalError if a row of the same kernel, platform and version exists.
  explicit KernelImplementation(KernelImplementationRow row);
  KernelImplementation(const KernelImplementation&) = delete;
  KernelImplementation& operator=(const KernelImplementation&) = delete;
  const KernelImplementationRow& row() const { return row_; }
  /// Writes "host kernel 1" or "cuda kernel 1".
  std::string text() const;

 private:
  KernelImplementationRow row_;
};

/// The implementation that a target runs, or the reasons why there is none.
struct KernelSelection {
  const KernelImplementation* implementation = nullptr;
  std::string reason = {};
};
KernelSelection select_kernel(std::string_view kernel, const KernelQuery& query,
                              const LoweringTarget& target);

/// The custom call by which programs call host kernels. Its attributes name the kernel and its
/// version; pjrt/kernels answers it.
inline constexpr std::string_view kHostKernelTarget = "axle_host_kernel";
inline constexpr std::string_view kKernelNameAttribute = "axle_kernel";
inline constexpr std::string_view kKernelVersionAttribute = "axle_version";
/// Writes the custom call of an implementation.
HloValues write_kernel(const KernelImplementation& implementation, const KernelQuery& query,
                       HloBuilder& b, const HloValues& operands);
/// Returns the host kernel of this name and version; null if there is none.
HostKernel find_host_kernel(std::string_view kernel, int64_t version);

}  // namespace axle
