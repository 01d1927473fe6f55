// The definition of a kernel: what it computes, and its rules under transforms. Its implementations
// are rows of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "ir/dtype.h"
#include "ir/hlo_builder.h"
#include "ir/op_rules.h"

namespace axle {

/// Sorted by name. A name consists of letters, digits and '_'.
struct KernelAttributes {
  using Value = std::variant<bool, int64_t, double, std::string>;
  std::map<std::string, Value, std::less<>> values = {};

  /// Returns the value; AXLE_CHECKs that it exists with this type.
  template <class T>
  const T& get(std::string_view name) const {
    const auto it = values.find(name);
    AXLE_CHECK(it != values.end() && std::holds_alternative<T>(it->second),
               "kernel attribute " + std::string(name));
    return std::get<T>(it->second);
  }
  bool operator==(const KernelAttributes&) const = default;
};

/// Writes the attributes as entries of an MLIR dictionary: `eps = 1e-05 : f64, name = "x"`.
std::string mlir_entries(const KernelAttributes& attributes);

/// A definition. Definitions are constants of static storage: calls refer to them.
struct Kernel {
  std::string_view name;
  /// Computes the kernel by ops. It is what every implementation must compute, and what runs where
  /// there is none. It uses no tensors but the operands.
  Values (*fallback)(const Values& operands, const KernelAttributes& attributes);
  /// The gradient, such as a call of another kernel. Null: the gradient of the fallback, which
  /// computes the fallback once more.
  VjpRule vjp = nullptr;
  /// The kernel of a whole batch. Null: a loop over the batch.
  BatchRule batch = nullptr;
  /// Which dims devices may divide, one character per dim: "bt.., ..h -> bth". A letter is a dim
  /// that may be divided, wherever it occurs; '.' is one that each device needs whole; a leading
  /// '*' stands for any number of dims that may be divided. Empty: none may be.
  std::string_view dims = {};
};

/// How the operands and the results of a kernel are divided over devices.
struct KernelPartition {
  std::vector<PartitionSpec> in_specs, out_specs;
};
/// Returns how a kernel runs over the axes of `mesh` if its operands are divided as `specs` ask,
/// as far as `dims` (Kernel::dims) and the sizes of the dims allow. Each operand names the axes
/// of its dims; the first operand that names some for a letter decides. Throws ShapeError if `dims`
/// does not fit the types.
KernelPartition partition_kernel(std::string_view dims, const std::vector<Type>& operands,
                                 const std::vector<Type>& results,
                                 const std::vector<PartitionSpec>& specs, const Mesh& mesh);

/// An operand or a result of a host kernel: dense, row-major, 64-byte aligned.
struct HostKernelBuffer {
  DType dtype = DType::kF32;
  std::span<const int64_t> dims = {};
  void* data = nullptr;

  int64_t size() const {
    int64_t out = 1;
    for (const int64_t dim : dims) out *= dim;
    return out;
  }
  /// Returns the elements; AXLE_CHECKs that T is the C++ type of the dtype.
  template <class T>
  std::span<T> values() const {
    AXLE_CHECK(dtype == dtype_of<T>(), "the dtype of a kernel's buffer");
    return {static_cast<T*>(data), static_cast<size_t>(size())};
  }
};

/// One call of a host kernel.
struct HostKernelCall {
  std::span<const HostKernelBuffer> operands;
  std::span<const HostKernelBuffer> results;
  const KernelAttributes& attributes;
  /// Calls work(first, last) for ranges that cover [0, count), on the threads of the program that
  /// calls the kernel, and returns when all are done. Each range but the last has at least `grain`
  /// numbers. What `work` throws is thrown here.
  std::function<void(int64_t count, int64_t grain,
                     const std::function<void(int64_t first, int64_t last)>& work)>
      parallel;
};

/// Writes all results. What it throws becomes the error of the program. It may be called by several
/// devices at once.
using HostKernel = void (*)(const HostKernelCall& call);

// The registry of kernel implementations: hand-written code for one platform that computes what the
// traced fallback of a kernel computes (transform/kernel/kernels.h).

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
