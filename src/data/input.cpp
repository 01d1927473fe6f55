#include "data/input.h"

#include <fmt/format.h>

namespace axle {

std::string to_text(const InputFacts& facts) {
  if (facts.num_files == 0) return {};
  std::string out = fmt::format("{} {}, {} bytes", facts.num_files,
                                facts.num_files == 1 ? "file" : "files", facts.num_bytes);
  if (facts.skipped.count > 0) out += ", " + to_text(facts.skipped);
  return out;
}

}  // namespace axle
