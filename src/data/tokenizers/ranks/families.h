// What files of ranks leave out: how text is cut, and the special tokens. A family has both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_text.h"

namespace axle {

/// Families of published ranks; kAuto tells them by the number of ranks.
enum class RanksFamily { kAuto, kGpt2, kP50k, kCl100k, kO200k, kLlama3, kLlama4, kQwen, kQwen35 };
constexpr auto texts_of(RanksFamily) {
  return std::to_array<EnumText<RanksFamily>>({{RanksFamily::kAuto, "auto"},
                                               {RanksFamily::kGpt2, "gpt2"},
                                               {RanksFamily::kP50k, "p50k"},
                                               {RanksFamily::kCl100k, "cl100k"},
                                               {RanksFamily::kO200k, "o200k"},
                                               {RanksFamily::kLlama3, "llama3"},
                                               {RanksFamily::kLlama4, "llama4"},
                                               {RanksFamily::kQwen, "qwen"},
                                               {RanksFamily::kQwen35, "qwen3.5"}});
}

/// Patterns that cut text into pieces, as published with the models (syntax: RegexSyntax::kRust).
namespace split_patterns {
extern const std::string_view kGpt2, kCl100k, kO200k, kLlama3, kQwen, kQwen35;
}

struct RanksFamilyRow {
  RanksFamily family;
  /// Of the published file.
  int64_t num_ranks;
  std::string_view pattern;
  /// The special tokens by the difference of their ids to the number of ranks.
  struct Special {
    std::string text;
    int64_t offset;
  };
  std::vector<Special> (*specials)();
  std::string_view bos, eos, pad;  // empty: none
  /// A text begins with `bos`.
  bool begins_with_bos;
};

/// Returns the row of a family; of kAuto, the one with so many ranks, or nullptr.
const RanksFamilyRow* find_ranks_family(RanksFamily family, int64_t num_ranks);

}  // namespace axle
