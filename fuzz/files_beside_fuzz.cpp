// Reads bytes as the files beside a tokenizer.json, one behind the other with a NUL between them:
// how the tokenizer is used, the ids that end a text, and the chat template.
// Runs from the root of a checkout.
#include "data/tokenizers/open_tokenizer.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const axle::FuzzFolder folder;
  static const bool is_there = std::filesystem::copy_file(
      "testdata/reference/tokenizers/qwen2.json", folder.path() / "tokenizer.json");
  if (!is_there) std::abort();
  folder.write({reinterpret_cast<const char*>(data), size},
               {"tokenizer_config.json", "generation_config.json", "chat_template.jinja"});
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const auto tokenizer =
        axle::tokenizer_in_file(folder.path() / "tokenizer.json", "--tokenizer").build({}, {});
    tokenizer->chat_settings();
    tokenizer->decode(tokenizer->framed(tokenizer->encode_with_special("a text")));
  });
  return 0;
}
