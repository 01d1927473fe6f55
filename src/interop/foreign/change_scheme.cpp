#include "interop/foreign/change_scheme.h"

#include "base/error.h"
#include "ir/finite.h"
#include "ir/small_float.h"

namespace axle {
namespace {

// Each column `copies` times.
template <class T>
HostTensor repeated_columns(const HostTensor& x, int64_t copies) {
  HostTensor out(Type{x.dtype(), {x.shape()[0], x.shape()[1] * copies}});
  const std::span<const T> from = x.values<T>();
  const std::span<T> to = out.values<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i / static_cast<size_t>(copies)];
  return out;
}

HostTensor repeated(HostTensor x, int64_t copies) {
  if (copies == 1) return x;
  switch (x.dtype()) {
    case DType::kI8:
      return repeated_columns<int8_t>(x, copies);
    case DType::kF16:
      return repeated_columns<F16>(x, copies);
    default:
      return repeated_columns<float>(x, copies);
  }
}

// f32 numbers of groups.
HostTensor widened(const HostTensor& own, const HostTensor* shared) {
  HostTensor out = own.astype(DType::kF32);
  if (!shared) return out;
  const std::span<const F16> blocks = shared->values<F16>();
  const std::span<float> to = out.values<float>();
  const size_t of_block = to.size() / blocks.size();
  for (size_t i = 0; i < to.size(); ++i) to[i] *= static_cast<float>(blocks[i / of_block]);
  return out;
}

HostTensor times(const HostTensor& x, float factor) {
  HostTensor out = x.astype(DType::kF32);
  for (float& value : out.values<float>()) value *= factor;
  return out.astype(x.dtype());
}

void widen(Tree<HostTensor>& parts, std::string_view own, std::string_view block) {
  const auto found = parts.find(own);
  if (found == parts.end()) return;
  const auto shared = parts.find(block);
  found->second = widened(found->second, shared == parts.end() ? nullptr : &shared->second);
  if (shared != parts.end()) parts.erase(shared);
}

// Adds the offsets that stand for the middle: -zero times the scales. A number of 8 bits times a
// power of two stays in the f16 that its block shares.
bool add_offsets(Tree<HostTensor>& parts, int64_t zero) {
  const bool is_small = parts.contains(kBlockScales);
  const std::string_view from = is_small ? kBlockScales : kScales,
                         to = is_small ? kBlockOffsets : kOffsets;
  HostTensor offsets = times(parts.find(from)->second, static_cast<float>(-zero));
  if (!all_finite(offsets)) return false;
  if (is_small) parts.emplace(kOffsets, parts.find(kScales)->second);
  parts.emplace(to, std::move(offsets));
  return true;
}

void add_to(HostTensor& codes, int64_t number) {
  for (uint8_t& code : codes.values<uint8_t>()) code = static_cast<uint8_t>(code + number);
}

}  // namespace

std::optional<StoredCodes> in_scheme(StoredCodes stored, const CodeScheme& wanted) {
  AXLE_CHECK(holds(wanted, stored.scheme), "a scheme that holds the codes");
  Tree<HostTensor>& parts = stored.parts;
  if (wanted.scales != stored.scheme.scales) {
    widen(parts, kScales, kBlockScales);
    widen(parts, kOffsets, kBlockOffsets);
  }
  if (wanted.offsets == OffsetForm::kMiddle)
    add_to(parts.find(kCodes)->second, wanted.zero() - stored.scheme.zero());
  else if (stored.scheme.offsets == OffsetForm::kMiddle &&
           !add_offsets(parts, stored.scheme.zero()))
    return std::nullopt;
  for (const std::string_view name : {kScales, kOffsets}) {
    const auto part = parts.find(name);
    if (part != parts.end())
      part->second = repeated(std::move(part->second), stored.scheme.group / wanted.group);
  }
  stored.scheme = wanted;
  return stored;
}

}  // namespace axle
