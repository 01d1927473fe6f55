#include "ir/finite.h"

#include <bit>
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
    case DType::kBF16:
      return none_has<uint16_t>(tensor, 0x7f80);
    case DType::kF32:
      return none_has<uint32_t>(tensor, 0x7f800000);
    case DType::kF64:
      return none_has<uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return true;
  }
}

std::optional<std::string> first_not_finite(const Tree<HostTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!all_finite(tensor)) return name;
  }
  return std::nullopt;
}

}  // namespace axle
