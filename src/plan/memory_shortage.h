// Compilers that refuse a program as too large for the device say in a sentence by how much.
//
// Source: openxla/xla, docs/errors/error_1000.md; the sentences of libtpu 0.0.51.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/memory.h"

namespace axle {

struct MemoryShortage {
  /// Bytes of one device, as exact as the compiler prints them.
  int64_t needed = 0, available = 0;
  /// "temporaries"; empty: all that the program needs.
  std::string of = {};
};

/// Reads the device memory that a refusal names, "Used 18.32G of 15.75G hbm": needed is more than
/// available. None for a sentence in other words, or about another memory than the device's.
std::optional<MemoryShortage> read_memory_shortage(std::string_view refusal);

/// The list of the largest buffers that follows a refusal: "1. Size: 4.00G", "Operator:
/// op_name=...", "Shape: ...". Empty where there is none.
std::vector<Temporary> read_largest_buffers(std::string_view details);

}  // namespace axle
