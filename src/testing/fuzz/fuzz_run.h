// Runs the laws over the programs of many seeds.
#pragma once

#include <string>

#include "testing/fuzz/laws.h"
#include "testing/fuzz/shrink.h"
#include "testing/fuzz/text.h"

namespace axle::testing::fuzz {

/// Every fourth program is smooth, so that its gradients can be compared with slopes.
inline bool is_smooth(uint64_t seed) { return seed % 4 == 0; }
inline Program program_of(uint64_t seed) {
  return Generator(seed, {.smooth = is_smooth(seed)}).program();
}

struct FuzzRun {
  /// The first programs that break a law, each with its seed and made smaller; empty if none does.
  std::string report = {};
  /// Programs with numbers that are not finite or are large. Nothing is checked for them.
  uint64_t num_wild = 0;
};

inline FuzzRun fuzz(uint64_t first, uint64_t count) {
  constexpr int kMaxReported = 3;
  FuzzRun out;
  int num_broken = 0;
  for (uint64_t seed = first; seed < first + count && num_broken < kMaxReported; ++seed) {
    const Program program = program_of(seed);
    const auto broken = [&](const Program& p, bool* is_tame = nullptr) {
      Laws laws(p, seed, is_smooth(seed));
      std::string what = laws.broken();
      if (is_tame) *is_tame = laws.is_tame;
      return what;
    };
    const auto law_of = [](const std::string& what) { return what.substr(0, what.find(':')); };
    bool is_tame = true;
    const std::string what = broken(program, &is_tame);
    out.num_wild += !is_tame;
    if (what.empty()) continue;
    ++num_broken;
    const Program small = Shrinker(program, [&](const Program& p) {
                            return law_of(broken(p)) == law_of(what);
                          }).run();
    out.report += fmt::format("seed {}:\n{}{}\n", seed, to_text(small), broken(small));
  }
  return out;
}

}  // namespace axle::testing::fuzz
