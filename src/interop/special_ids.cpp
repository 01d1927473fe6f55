#include "interop/special_ids.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

namespace {

constexpr const char* kNext = "give the tokenizer of the model, or --ignore tokenizer";

// Adds "eos 2 and not 7" if the config names ids, the tokenizer has one, and it is another.
void compare(const char* name, const std::vector<int64_t>& named, std::optional<int32_t> own,
             std::vector<std::string>& differences) {
  if (named.empty() || !own || std::ranges::count(named, *own) > 0) return;
  differences.push_back(fmt::format("{} {} and not {}", name, fmt::join(named, " or "), *own));
}

}  // namespace

std::string special_ids_warning(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                const std::string& tokenizer_file) {
  std::vector<std::string> differences;
  compare("bos", config.bos, tokenizer.bos, differences);
  compare("eos", config.eos, tokenizer.eos, differences);
  compare("pad", config.pad, tokenizer.pad, differences);
  if (differences.empty()) return {};
  return fmt::format(
      "WARNING: {}: expected the special ids of {}, got {}; those of the tokenizer count",
      config.where, tokenizer_file, join(differences, ", "));
}

void check_belongs_to_model(const NamedSpecialIds& config, int64_t num_tokens,
                            const Tokenizer& tokenizer, const std::string& tokenizer_file) {
  if (2 * tokenizer.vocab_size() < num_tokens) {
    throw DataError(fmt::format(
        "{}: expected the tokenizer of a model of {} tokens, got one with a vocabulary of {}; {}",
        tokenizer_file, num_tokens, tokenizer.vocab_size(), kNext));
  }
  std::vector<std::string> differences;
  compare("bos", config.bos, tokenizer.special_ids().bos, differences);
  compare("eos", config.eos, tokenizer.special_ids().eos, differences);
  if (differences.empty()) return;
  throw DataError(
      fmt::format("{}: expected the special ids of {}, got others: the model has {}; {}",
                  tokenizer_file, config.where, join(differences, ", "), kNext));
}

}  // namespace axle
