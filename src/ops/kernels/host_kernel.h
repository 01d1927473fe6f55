// Kernels written in C++ that a program on the host's cores calls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ir/dtype.h"
#include "ops/kernels/kernel_attributes.h"

namespace axle {

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

}  // namespace axle
