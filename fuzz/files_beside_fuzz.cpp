// Reads bytes as the files beside a tokenizer.json and a SentencePiece model, one behind the other
// with a NUL between them: how the tokenizer is used, the ids that end a text, the chat template,
// and what the tokens that are added are for.
// Runs from the root of a checkout.
#include "data/tokenizers/open_tokenizer.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const axle::FuzzFolder folder;
  static const bool is_there =
      std::filesystem::copy_file("testdata/reference/tokenizers/qwen2.json",
                                 folder.path() / "tokenizer.json") &&
      std::filesystem::copy_file("testdata/reference/tokenizers/pieces_old/tokenizer.model",
                                 folder.path() / "tokenizer.model");
  if (!is_there) std::abort();
  folder.write({reinterpret_cast<const char*>(data), size},
               {"tokenizer_config.json", "generation_config.json", "chat_template.jinja",
                "special_tokens_map.json", "added_tokens.json"});
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
      const auto tokenizer =
          axle::tokenizer_in_file(folder.path() / name, "--tokenizer").build({}, {});
      tokenizer->chat_settings();
      tokenizer->decode(tokenizer->framed(tokenizer->encode_with_special("a <tool> text")));
    });
  }
  return 0;
}
