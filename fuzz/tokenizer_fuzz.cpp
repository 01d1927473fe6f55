// Opens bytes as a tokenizer of whatever kind they are, and encodes and decodes texts.
#include "data/tokenizers/open_tokenizer.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error([&] {
    const axle::FuzzFile bytes(data, size);
    const auto tokenizer =
        axle::tokenizer_in_file(bytes.path(), "path").build({}, {.path = "tokenizer"});
    for (const char* text : {"", " the quick 12 ", "caf\xc3\xa9 e\xcc\x81 \xe7\x8c\xab<s>", "\xff"})
      tokenizer->decode(tokenizer->framed(tokenizer->encode_with_special(text)));
  });
  return 0;
}
