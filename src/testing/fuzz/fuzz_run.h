// Runs the laws over the programs of many seeds.
#pragma once

#include <map>
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
  /// Laws that were not checked for other programs: the reason, how often.
  std::map<std::string, uint64_t> skipped = {};

  /// Names the reasons for which more laws were not checked than is usual for `num_programs`.
  std::string skipped_too_often(uint64_t num_programs) const {
    std::string out;
    for (const auto& [why, times] : skipped) {
      const uint64_t limit = num_programs / 20;
      if (times > limit) out += fmt::format("{}: {} times, at most {}\n", why, times, limit);
    }
    return out;
  }
};

inline FuzzRun fuzz(uint64_t first, uint64_t count) {
  constexpr int kMaxReported = 3;
  FuzzRun out;
  int num_broken = 0;
  for (uint64_t seed = first; seed < first + count && num_broken < kMaxReported; ++seed) {
    const Program program = program_of(seed);
    Laws laws(program, seed, is_smooth(seed));
    const std::string what = laws.broken();
    out.num_wild += !laws.is_tame;
    for (const auto& [why, times] : laws.skipped()) out.skipped[why] += times;
    if (what.empty()) continue;
    const auto broken = [&](const Program& p) { return Laws(p, seed, is_smooth(seed)).broken(); };
    const auto law_of = [](const std::string& text) { return text.substr(0, text.find(':')); };
    ++num_broken;
    const Program small = Shrinker(program, [&](const Program& p) {
                            return law_of(broken(p)) == law_of(what);
                          }).run();
    out.report += fmt::format("seed {}:\n{}{}\n", seed, to_text(small), broken(small));
  }
  return out;
}

}  // namespace axle::testing::fuzz
