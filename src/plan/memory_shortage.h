// Reading how much memory a program lacks from the message of a compiler that refuses the program
// as too large for the device.
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
  /// Bytes on one device, as exact as the compiler prints them.
  int64_t needed = 0, available = 0;
  /// The part of the program's memory that `needed` counts: "temporaries"; empty: all of it.
  std::string of = {};
};

/// Reads the device memory from a refusal such as "Used 18.32G of 15.75G hbm". In the result,
/// `needed` is more than `available`. None if the refusal is phrased in an unknown way or is about
/// another memory than the device's.
std::optional<MemoryShortage> read_memory_shortage(std::string_view refusal);

/// Reads the list of the largest buffers that follows a refusal. It has lines like
/// "1. Size: 4.00G", "Operator: op_name=..." and "Shape: ...". Empty if there is no list.
std::vector<TemporaryBuffer> read_largest_buffers(std::string_view details);

}  // namespace axle
