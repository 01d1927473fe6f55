#include "data/token_files/made_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/skip_log.h"
#include "data/token_files/token_card.h"

namespace axle {

std::string MadeFor::or_in_memory(int64_t num_bytes) const {
  if (!has_memory) return "";
  return fmt::format(", or keep them in memory by --set {}.memory_bytes={}", input, num_bytes);
}

void add_made(const MadeTokens& made, InputFacts& facts) {
  const auto card = read_token_card(made.prefix);
  facts.num_files +=
      std::ranges::count_if(card->sources,
                            [](const HashedFile& file) { return file.num_documents > 0; }) -
      1;
  SkipLog skips(OnError::kSkip, "");
  skips.add(made.skipped);
  skips.add(card->skipped);
  skips.add(facts.skipped);
  facts.skipped = skips.skipped();
}

}  // namespace axle
