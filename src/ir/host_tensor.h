// Tensors in host memory: dense, row-major, 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/tree.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace axle {

/// A value, not a handle: copies are deep. A predicate is stored as one byte, 0 or 1. Allocating a
/// large tensor throws Error with kDoesNotFit if the host lacks the memory.
class HostTensor {
 public:
  HostTensor() : HostTensor(Type{}) {}
  /// Makes a tensor of zeros.
  explicit HostTensor(Type type);
  /// HostTensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}): the dtype follows from the C++ type of the
  /// values.
  template <class T>
  HostTensor(Shape shape, std::initializer_list<T> values)
      : HostTensor(std::move(shape), std::span<const T>(values.begin(), values.size())) {}
  template <class T>
  HostTensor(Shape shape, std::span<const T> values)
      : HostTensor(Type{dtype_of<T>(), std::move(shape)}) {
    check_count(values.size());
    std::copy(values.begin(), values.end(), this->values<T>().begin());
  }
  HostTensor(const HostTensor& other);
  HostTensor(HostTensor&&) noexcept = default;
  HostTensor& operator=(HostTensor other) noexcept;

  static HostTensor full(Shape shape, Scalar value, DType dtype = DType::kF32);
  static HostTensor zeros(Shape shape, DType dtype = DType::kF32) {
    return full(std::move(shape), 0, dtype);
  }
  static HostTensor ones(Shape shape, DType dtype = DType::kF32) {
    return full(std::move(shape), 1, dtype);
  }
  template <class T>
  static HostTensor scalar(T value) {
    return HostTensor(Shape{}, std::span<const T>(&value, 1));
  }

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.dims; }
  DType dtype() const { return type_.dtype; }
  int64_t size() const { return type_.num_elements(); }

  std::span<std::byte> bytes() { return {data_.get(), type_.num_bytes()}; }
  std::span<const std::byte> bytes() const { return {data_.get(), type_.num_bytes()}; }
  /// Returns the elements; AXLE_CHECKs that T is the C++ type of the dtype.
  template <class T>
  std::span<T> values() {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(size())};
  }
  /// Returns the elements as values of any type of their size, for code that only moves them.
  template <class T>
  std::span<T> elements() {
    check_size(sizeof(T));
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<const T> elements() const {
    check_size(sizeof(T));
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(size())};
  }
  /// Returns element i in row-major order as a double; integers beyond 2^53 are rounded.
  /// Throws InternalError for complex numbers.
  double at(int64_t i) const;
  /// Returns element i in row-major order, exactly.
  Scalar element(int64_t i) const;
  /// Returns the same values in another dtype (convert_element).
  HostTensor astype(DType dtype) const;
  /// Returns the same elements in another shape of equal size.
  HostTensor reshaped(Shape shape) const;
  /// True if types and bytes are equal.
  bool operator==(const HostTensor& other) const;
  /// Returns the type and up to `max_values` values, for messages.
  std::string text(int64_t max_values = 8) const;

 private:
  void check_dtype(DType expected) const;
  void check_size(size_t bytes) const;
  void check_count(size_t n) const;
  struct Free {
    size_t mapped = 0;  // bytes of pages of its own; 0: allocated
    void operator()(std::byte* p) const;
  };
  using Data = std::unique_ptr<std::byte[], Free>;
  static Data allocate(const Type& type);

  Type type_;
  Data data_;
};

/// True if no element is NaN or infinite; always true for integers and predicates.
bool all_finite(const HostTensor& tensor);
/// Returns the name of the first tensor that holds a NaN or an infinity; none if all are finite.
std::optional<std::string> first_non_finite(const Tree<HostTensor>& tensors);

/// Returns the first number of `from` that is finite and is not in `to`, the same numbers in
/// another dtype; none if all stay finite. Takes a pass over `to`, and none if its dtype has the
/// range.
std::optional<double> first_too_large(const HostTensor& from, const HostTensor& to);
/// Returns "expected magnitudes up to 65504 for f16, got 70000; bf16 and f32 hold it".
std::string too_large_text(double number, DType dtype);
/// Returns the tensor in this dtype. Throws DataError "<where>: <too_large_text()>" if a finite
/// number becomes infinite.
HostTensor checked_astype(const HostTensor& tensor, DType dtype, const std::string& where);

/// A part of a matrix: its first element, and the elements of a row of the whole matrix.
struct MatrixWindow {
  int64_t offset, stride;
};

/// Fills the window `to` of `target`, of [rows, columns] elements, with the window `from` of
/// `source`: of that shape, or of [columns, rows] if `transpose`. Elements of both have one size.
void copy_elements(const HostTensor& source, MatrixWindow from, bool transpose, int64_t rows,
                   int64_t columns, HostTensor& target, MatrixWindow to);

}  // namespace axle
