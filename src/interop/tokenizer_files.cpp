#include "interop/tokenizer_files.h"

#include <algorithm>

#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizers[] = {"tokenizer.json", "tokenizer.model", "tekken.json"};
constexpr const char* kBeside[] = {"tokenizer_config.json", "special_tokens_map.json",
                                   "added_tokens.json", "generation_config.json",
                                   "chat_template.jinja"};

}  // namespace

fs::path find_tokenizer(const fs::path& folder) {
  for (const char* name : kTokenizers) {
    if (path_exists(folder / name)) return folder / name;
  }
  return {};
}

std::vector<fs::path> tokenizer_files(const fs::path& tokenizer) {
  std::vector<fs::path> out = {tokenizer};
  for (const std::string& name : names_beside(tokenizer)) {
    const fs::path file = tokenizer.parent_path() / name;
    if (path_exists(file)) out.push_back(file);
  }
  return out;
}

std::vector<std::string> names_beside(const fs::path& tokenizer) {
  if (std::ranges::count(kTokenizers, tokenizer.filename()) == 0) return {};
  return {std::begin(kBeside), std::end(kBeside)};
}

}  // namespace axle
