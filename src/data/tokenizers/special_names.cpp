#include "data/tokenizers/special_names.h"

#include <string>
#include <vector>

namespace axle {
namespace {

ByteTrie names_of(const Tokenizer& tokenizer) {
  constexpr size_t kShortest = 3;  // bytes; shorter ones stand in any text
  std::vector<std::string> names;
  for (const int32_t id : tokenizer.added_ids()) {
    std::string name = tokenizer.token(id);
    if (tokenizer.piece(id).empty() && name.size() >= kShortest) names.push_back(std::move(name));
  }
  std::vector<ByteTrie::Entry> entries;
  for (const std::string& name : names) entries.push_back({name, 0});
  return ByteTrie(std::move(entries));
}

}  // namespace

SpecialNames::SpecialNames(const Tokenizer& tokenizer) : names_(names_of(tokenizer)) {}

}  // namespace axle
