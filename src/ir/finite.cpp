#include "ir/finite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace axle {
namespace {

// NaN and infinity are the values with all exponent bits set. The loop has no branch, so that it
// runs at the speed of memory.
template <class Bits>
bool none_has(std::span<const Bits> values, Bits exponent) {
  Bits found = 0;
  for (const Bits v : values) found |= static_cast<Bits>((v & exponent) == exponent);
  return found == 0;
}

// Of the 8-bit floats some have no infinity, and none is large.
template <class T>
bool each_is_finite(const HostTensor& tensor) {
  return std::ranges::all_of(tensor.values<T>(),
                             [](T v) { return std::isfinite(static_cast<float>(v)); });
}

template <class Bits>
bool none_has(const HostTensor& tensor, Bits exponent) {
  const auto bytes = tensor.bytes();
  return none_has(
      std::span(reinterpret_cast<const Bits*>(bytes.data()), bytes.size() / sizeof(Bits)),
      exponent);
}

}  // namespace

bool all_finite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF8E4M3FN:
      return each_is_finite<F8E4M3FN>(tensor);
    case DType::kF8E5M2:
      return each_is_finite<F8E5M2>(tensor);
    case DType::kF16:
      return none_has<uint16_t>(tensor, 0x7c00);
    case DType::kBF16:
      return none_has<uint16_t>(tensor, 0x7f80);
    case DType::kF32:
    case DType::kC64:
      return none_has<uint32_t>(tensor, 0x7f800000);
    case DType::kF64:
    case DType::kC128:
      return none_has<uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return true;
  }
}

std::optional<std::string> first_non_finite(const Tree<HostTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!all_finite(tensor)) return name;
  }
  return std::nullopt;
}

}  // namespace axle
