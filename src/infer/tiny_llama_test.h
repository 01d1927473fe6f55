// A tiny Llama in a folder that `axle import` made.
#pragma once

#include <filesystem>

#include "infer/text_generator.h"
#include "interop/import_model.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"

namespace axle {

/// Writes weights, "tok.bin" and "tok.model" into `from`, and imports the weights with `tokenizer`.
/// Returns the imported folder.
inline std::filesystem::path import_tiny_llama(const TempDir& from, const TinyLlama& llama,
                                               const std::string& tokenizer = "tok.bin") {
  const std::string model = trained_bpe();
  replace_file(from / "llama.bin", llama.file());
  replace_file(from / "tok.model", model);
  replace_file(from / "tok.bin", llama2c_vocabulary(model));
  import_model({.source = from / "llama.bin",
                .dir = from / "model",
                .options = {.tokenizer = from / tokenizer}});
  return from / "model";
}

/// Expects the generator to continue the prompt, token by token, like the reference loops of
/// TinyLlama.
inline void expect_generates_as_the_loops(Runtime& runtime, const LlamaSizes& sizes,
                                          const std::string& tokenizer = "tok.bin") {
  constexpr int64_t kTokens = 24;
  const TempDir dir;
  const TinyLlama llama(sizes);
  LoadedModel loaded = load_model(import_tiny_llama(dir, llama, tokenizer));
  std::vector<int32_t> text = loaded.tokenizer->encode("bakeri tilomu");
  text.insert(text.begin(), *loaded.tokenizer->special_ids().bos);
  TextGenerator generator(std::move(loaded), runtime);
  const GeneratedText out = generator.generate("bakeri tilomu", {.max_tokens = kTokens});
  ASSERT_EQ(out.prompt_tokens, std::ssize(text));
  ASSERT_GT(out.row.tokens.size(), 3u);
  for (const int32_t token : out.row.tokens) {
    const TinyLlama::Choice best = llama.best(text);
    ASSERT_GT(best.margin, 1e-3) << "another seed: too close to call";
    ASSERT_EQ(token, best.token) << "after " << text.size() << " tokens";
    text.push_back(token);
  }
  if (out.row.stop == StopReason::kMaxTokens) {
    EXPECT_EQ(std::ssize(out.row.tokens), kTokens);
  } else {
    EXPECT_LE(llama.best(text).token, 2) << "a text ends at its end or where another begins";
  }
}

inline const std::vector<LlamaSizes>& tiny_llamas() {
  static const std::vector<LlamaSizes> all = {
      {},
      {.num_kv_heads = 4},
      {.num_kv_heads = 1, .shares_embedding = false},
      {.dim = 24, .hidden_dim = 20, .num_layers = 3, .num_heads = 6, .num_kv_heads = 3}};
  return all;
}

}  // namespace axle
