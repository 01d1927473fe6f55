// The small Llama of stories whose weights, vocabularies and greedy text lie in the shared folder.
#pragma once

#include <filesystem>
#include <string>

#include "infer/import_model.h"
#include "infer/text_generator.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {

inline std::filesystem::path stories_folder() { return source_file("../shared/data/stories260K"); }
inline bool has_stories() { return path_exists(stories_folder() / "stories260K.bin"); }

/// Prompt and 86 tokens, as a Python string literal on the file's second line.
inline std::string golden_story() {
  const std::string file = read_file(stories_folder() / "golden_greedy_90.txt");
  const size_t begin = file.find('\'', file.find('\n')) + 1, end = file.rfind('\'');
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (file[i] != '\\') {
      out += file[i];
    } else {
      out += file[++i] == 'n' ? '\n' : file[i];
    }
  }
  return out;
}

inline constexpr std::string_view kStoryPrompt = "Once upon a time";
inline constexpr int64_t kStoryTokens = 86;

/// The model by way of a folder, as `axle import` makes it and `axle generate` takes it;
/// `tokenizer` is "tok512.bin" or "tok512.model".
inline LoadedModel load_stories(const std::filesystem::path& folder, const std::string& tokenizer) {
  import_llama2c({.weights = stories_folder() / "stories260K.bin",
                  .tokenizer = stories_folder() / tokenizer,
                  .dir = folder});
  return load_model(folder);
}

}  // namespace axle
