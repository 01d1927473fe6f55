// Reads bytes as a GGUF file of a model: its keys describe the model, and its tensors fill it.
// seeds: testdata/reference/gguf/models
#include "fuzz_file.h"
#include "interop/hugging_face.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  const axle::FuzzFile bytes(data, size);
  for (const bool with_weights : {false, true}) {
    axle::expect_lines_or_result({ExitCode::kUser, ExitCode::kData, ExitCode::kDoesNotFit}, [&] {
      axle::read_gguf(bytes.path(), {.with_weights = with_weights});
    });
  }
  return 0;
}
