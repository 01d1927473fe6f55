#include "ir/code_scheme.h"

#include <algorithm>
#include <numeric>

namespace axle {

double CodeScheme::bits_per_number() const {
  auto out = static_cast<double>(num_bits());
  for (const CodePart& part : parts_of(*this)) {
    if (part.name != kCodes)
      out += 8.0 * static_cast<double>(size_bytes(part.dtype)) / static_cast<double>(part.numbers);
  }
  return out;
}

std::vector<CodePart> parts_of(const CodeScheme& scheme) {
  const bool is_small = scheme.scales == ScaleForm::kI8;
  const DType own = is_small                           ? DType::kI8
                    : scheme.scales == ScaleForm::kF16 ? DType::kF16
                                                       : DType::kF32;
  std::vector<CodePart> out = {{kCodes, DType::kU8, 1}, {kScales, own, scheme.group}};
  if (is_small) out.push_back({kBlockScales, DType::kF16, kScaleBlock});
  if (scheme.offsets == OffsetForm::kMiddle) return out;
  out.push_back({kOffsets, own, scheme.group});
  if (is_small) out.push_back({kBlockOffsets, DType::kF16, kScaleBlock});
  return out;
}

bool holds(const CodeScheme& wide, const CodeScheme& stored) {
  return wide.bits >= stored.bits && stored.group % wide.group == 0 &&
         (wide.scales == ScaleForm::kF32 || wide.scales == stored.scales) &&
         (wide.offsets == OffsetForm::kOwn || stored.offsets == OffsetForm::kMiddle);
}

CodeScheme joined(const CodeScheme& a, const CodeScheme& b) {
  return {.bits = std::max(a.bits, b.bits),
          .group = std::gcd(a.group, b.group),
          .scales = a.scales == b.scales ? a.scales : ScaleForm::kF32,
          .offsets = a.offsets == b.offsets ? a.offsets : OffsetForm::kOwn};
}

}  // namespace axle
