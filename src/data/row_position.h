// The state of inputs that number their rows: the next row, and a fingerprint of the data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace axle {

/// The highest row number of any input. Sums of row numbers below it never overflow.
inline constexpr int64_t kMaxRow = int64_t{1} << 62;

/// A state that no input can have written: the stored state is damaged.
struct MalformedState : DataError {
  using DataError::DataError;
};

struct RowPosition {
  /// Number of the next row, counted over all epochs.
  int64_t next_row = 0;
  /// Hash of everything that determines the content of rows.
  uint64_t fingerprint = 0;
};

/// Writes {"fingerprint":"00c0ffee00c0ffee","next_row":12}.
std::string to_json(const RowPosition& position);
/// Returns the next row of `state`, at most kMaxRow. Throws MalformedState, or DataError if the
/// fingerprint of the state is not `fingerprint`.
int64_t restored_row(std::string_view state, uint64_t fingerprint);

}  // namespace axle
