#include "interop/tokenizer_files.h"

#include <algorithm>

#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeside[] = {"tokenizer_config.json", "special_tokens_map.json",
                                   "added_tokens.json", "generation_config.json",
                                   "chat_template.jinja"};

// These read the files beside them, whatever their own name.
bool reads_files_beside(const Child<Tokenizer>& tokenizer) {
  return tokenizer.get_if<HuggingFaceTokenizer>() || tokenizer.get_if<SentencePieceTokenizer>();
}

}  // namespace

std::vector<fs::path> tokenizer_files(const fs::path& path, const Child<Tokenizer>& tokenizer) {
  std::vector<fs::path> out = {path};
  if (!reads_files_beside(tokenizer) && names_beside(path).empty()) return out;
  for (const char* name : kBeside) {
    const fs::path file = path.parent_path() / name;
    if (path_exists(file)) out.push_back(file);
  }
  return out;
}

std::vector<std::string> names_beside(const fs::path& tokenizer) {
  if (std::ranges::count(kTokenizerNames, tokenizer.filename().string()) == 0) return {};
  return {std::begin(kBeside), std::end(kBeside)};
}

std::string read_tokenizer_file(const fs::path& file) {
  return is_gguf(file) ? gguf_tokenizer_alone(file) : read_file(file);
}

}  // namespace axle
