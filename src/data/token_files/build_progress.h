// What an unfinished build of a token file has done: PREFIX.part/progress.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/token_files/token_card.h"
#include "io/token_file.h"

namespace axle {

struct BuildProgress {
  uint64_t job = 0;                      // hash of what is to be made
  std::vector<HashedFile> sources = {};  // files that are done
  int64_t num_taken = 0;       // records taken from the next file, also those that were skipped
  std::string next_file = {};  // its state_of_file, if num_taken > 0
  TokenCounts counts = {};
  int64_t text_bytes = 0, piece_bytes = 0;  // text: perhaps below 0 (TextOfIds)
  int64_t num_learned = 0;                  // as of a LearnedCard
  Remarks remarks = {};
  Skipped skipped = {};
};

/// Returns the size of a file and the time of its last change: what tells that it is the one that a
/// build began with.
std::string state_of_file(const std::string& path);

std::string text_of_progress(const BuildProgress& progress);
/// Returns none if there is no such file. Throws DataError if it is damaged.
std::optional<BuildProgress> read_progress(const std::string& path);

}  // namespace axle
