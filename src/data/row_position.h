// The state of inputs that number their rows: the next row, and what they are rows of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace axle {

/// No input counts further, so that sums of rows never overflow.
inline constexpr int64_t kMaxRow = int64_t{1} << 62;

/// A state that no input has written: where it was kept, something is wrong.
struct MalformedState : DataError {
  using DataError::DataError;
};

struct RowPosition {
  /// Counted over all epochs.
  int64_t next_row = 0;
  /// Of everything that decides what a row holds.
  uint64_t fingerprint = 0;
};

/// {"fingerprint":"00c0ffee00c0ffee","next_row":12}
std::string to_json(const RowPosition& position);
/// The row of `state`, at most kMaxRow. Throws MalformedState, DataError if its fingerprint is not
/// `fingerprint`.
int64_t restored_row(std::string_view state, uint64_t fingerprint);

}  // namespace axle
