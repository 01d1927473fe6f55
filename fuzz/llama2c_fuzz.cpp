// Reads bytes as the weights of a model of llama2.c.
#include "fuzz_file.h"
#include "interop/llama2c.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData, axle::ExitCode::kDoesNotFit},
                               [&] { axle::read_llama2c(axle::FuzzFile(data, size).path()); });
  return 0;
}
