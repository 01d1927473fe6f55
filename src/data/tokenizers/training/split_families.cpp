#include "data/tokenizers/training/split_families.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "data/tokenizers/gguf/split_names.h"

namespace axle {
namespace {

struct Family {
  std::string_view name;
  std::string_view gguf;  // how GGUF files name its patterns
};

// Trained tokenizers have merges, not ranks, so these are the names without "ignore_merges": the
// tokenizer of a trained model can be exported to GGUF.
constexpr std::string_view kDefault = "llama3";
constexpr Family kFamilies[] = {
    {"cl100k", "dbrx"},    {"deepseek-v3", "deepseek-v3"},
    {"gpt2", "gpt-2"},     {"llama3", "dbrx"},
    {"o200k", "gpt-4o"},   {"qwen2", "qwen2"},
    {"qwen3.5", "qwen35"}, {"smollm", "smollm"},
};

}  // namespace

const std::vector<std::string_view>& split_patterns_of(std::string_view family,
                                                       std::string_view where) {
  if (family.empty()) family = kDefault;
  const auto* const found = std::ranges::find(kFamilies, family, &Family::name);
  if (found == std::end(kFamilies)) {
    const std::vector<std::string> names = split_family_names();
    throw ConfigError(fmt::format("{}: expected one of {}, got '{}'{}", where, join(names, ", "),
                                  family, suggest(family, names)));
  }
  return find_gguf_split(found->gguf)->patterns;
}

std::vector<std::string> split_family_names() {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) out.emplace_back(family.name);
  return out;
}

}  // namespace axle
