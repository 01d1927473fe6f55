#include "ir/finite.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace axle {
namespace {

// A number is NaN or infinite if all bits of `mask` are set in it. Then the lowest of them carries
// into the sign. A block has a fixed length and no branch, so that it becomes vectors at -O2, too.
template <class Bits>
bool none_has(const HostTensor& tensor, Bits mask) {
  constexpr size_t kBlock = 4096 / sizeof(Bits);
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const auto lowest = static_cast<Bits>(mask & -mask);
  const auto carries = [&](Bits v) { return static_cast<Bits>((v & mask) + lowest); };
  const auto* at = reinterpret_cast<const Bits*>(tensor.bytes().data());
  size_t rest = tensor.bytes().size() / sizeof(Bits);
  for (; rest >= kBlock; rest -= kBlock, at += kBlock) {
    Bits found = 0;
    for (size_t i = 0; i < kBlock; ++i) found |= carries(at[i]);
    if (found & kSign) return false;
  }
  return std::all_of(at, at + rest, [&](Bits v) { return !(carries(v) & kSign); });
}

}  // namespace

bool all_finite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF8E4M3FN:
      return none_has<uint8_t>(tensor, 0x7f);  // has no infinity
    case DType::kF8E5M2:
      return none_has<uint8_t>(tensor, 0x7c);
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
