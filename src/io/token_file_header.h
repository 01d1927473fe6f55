// The header of an index of token files, for its reader and its writer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "ir/dtype.h"

namespace axle {

inline constexpr std::string_view kTokenIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr uint64_t kTokenIndexVersion = 1;
inline constexpr size_t kTokenIndexHeaderBytes = 34;

/// The codes of the types of ids. The format also knows f64 (6) and f32 (7), which are no ids.
inline constexpr auto kTokenDTypes = std::to_array<std::pair<uint8_t, DType>>({{1, DType::kU8},
                                                                               {2, DType::kI8},
                                                                               {3, DType::kI16},
                                                                               {4, DType::kI32},
                                                                               {5, DType::kI64},
                                                                               {8, DType::kU16}});

inline std::optional<DType> token_dtype_of(uint8_t code) {
  for (const auto& [number, dtype] : kTokenDTypes) {
    if (number == code) return dtype;
  }
  return std::nullopt;
}

/// Returns 0 for a type that ids do not have.
inline uint8_t code_of_token_dtype(DType dtype) {
  for (const auto& [number, one] : kTokenDTypes) {
    if (one == dtype) return number;
  }
  return 0;
}

}  // namespace axle
