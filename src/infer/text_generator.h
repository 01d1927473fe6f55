// Generation of text: takes a prompt, and returns text piece by piece.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "infer/generator.h"
#include "interop/model_folder.h"

namespace axle {

/// Holds back text that may be the beginning of an end.
class EndTexts {
 public:
  /// Empty texts end nothing.
  explicit EndTexts(std::vector<std::string> ends);
  /// Returns the text that can be shown after this piece: all before the first end, or before what
  /// may become one.
  std::string push(std::string_view piece);
  /// True once an end has come. Later pieces are left out.
  bool found() const { return found_; }
  /// Returns what is held back; there is no further piece.
  std::string finish();

 private:
  std::vector<std::string> ends_;
  std::string held_;
  bool found_ = false;
};

struct GeneratedText {
  std::string prompt;
  std::string text;  // the generated text, without the prompt
  int64_t prompt_tokens = 0;
  GeneratedRow row = {};
  double prefill_secs = 0, tokens_per_sec = 0;
};
nlohmann::ordered_json to_json(const GeneratedText& generated);
/// Returns "86 tokens (max_tokens), 4100.2 tokens/s, prefill of 5 in 1.3 ms".
std::string speed_text(const GeneratedText& generated);

/// A language model that continues texts.
class TextGenerator {
 public:
  /// Throws as Generator does.
  TextGenerator(LoadedModel loaded, Runtime& runtime, CompileOptions compile = {}, Mesh mesh = {});

  /// Called with each new piece of text. A piece is not empty and holds whole characters.
  using OnText = std::function<void(std::string_view text)>;
  /// Continues the prompt, after the vocabulary's begin token if it has one. Stops at the tokens
  /// that end a text or begin another one, at `options.end_tokens`, and at `options.end_texts`,
  /// which are left out of the text, though not of the tokens. Throws ConfigError for a prompt that
  /// is not UTF-8, and as Generator::generate does.
  GeneratedText generate(std::string_view prompt, GenerateOptions options,
                         const OnText& on_text = {});
  /// Continues these tokens; `prompt` is their text. Throws ConfigError for one that the model has
  /// no row for, and as above.
  GeneratedText generate(TokenIds ids, std::string prompt, GenerateOptions options,
                         const OnText& on_text = {});
  const Tokenizer& tokenizer() const { return *loaded_.tokenizer; }

 private:
  LoadedModel loaded_;
  Generator generator_;
};

}  // namespace axle
