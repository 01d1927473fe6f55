// Opens bytes as a tokenizer of whatever kind they begin as, encodes texts and decodes the ids.
// seeds: testdata/reference/tokenizers
// seeds: testdata/reference/gguf/tokenizers/*.gguf
#include "data/tokenizers/open_tokenizer.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const axle::FuzzFile bytes(data, size);
    const auto tokenizer = axle::tokenizer_in_file(bytes.path(), "--tokenizer").build({}, {});
    for (const char* text : {"", "the th 12 <s>", "caf\xc3\xa9 \xe7\x8c\xab", "\xff\xc3"}) {
      const auto ids = tokenizer->encode_with_special(text);
      for (const int32_t id : ids) {
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      }
      tokenizer->decode(tokenizer->framed(ids));
    }
  });
  return 0;
}
