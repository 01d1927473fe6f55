// Generation of text: a prompt in, text out as it appears.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "infer/generator.h"
#include "infer/model_folder.h"

namespace axle {

struct GeneratedText {
  std::string prompt;
  std::string text;  // what follows it
  int64_t prompt_tokens = 0;
  GeneratedRow row = {};
  double prefill_secs = 0, tokens_per_sec = 0;
};
nlohmann::ordered_json to_json(const GeneratedText& generated);
/// "86 tokens (max_tokens), 4100.2 tokens/s, prefill of 5 in 1.3 ms".
std::string speed_text(const GeneratedText& generated);

/// A model that writes.
class TextGenerator {
 public:
  /// Throws as Generator does.
  TextGenerator(LoadedModel loaded, Runtime& runtime, CompileOptions compile = {}, Mesh mesh = {});

  /// Called with each piece of text, whole characters, none of them empty.
  using OnText = std::function<void(std::string_view text)>;
  /// Goes on from the prompt behind the vocabulary's begin token, where it has one, and stops where
  /// a text ends or another begins; `options.end_tokens` are further ends. Throws ConfigError for a
  /// prompt that is not UTF-8, and as Generator::generate does.
  GeneratedText generate(std::string_view prompt, GenerateOptions options,
                         const OnText& on_text = {});

 private:
  LoadedModel loaded_;
  Generator generator_;
};

}  // namespace axle
