// A token file that a run has made of files.
#pragma once

#include <string>

#include "data/input.h"

namespace axle {

struct MadeTokens {
  std::string prefix;
  Skipped skipped = {};  // files that were not read
};

/// The config paths of an input and of its source, for messages.
struct MadeFor {
  std::string input, source;
  bool has_memory = false;  // the input may hold its files in memory

  /// What else to do than to keep tokens of files of so many bytes, behind a message; "": nothing.
  std::string or_in_memory(int64_t num_bytes) const;
};

/// Counts, in the place of the token file, the files that it was made of, and what of them is not
/// in it.
void add_made(const MadeTokens& made, InputFacts& facts);

}  // namespace axle
