// Opens bytes as a safetensors file and reads its tensors.
#include "fuzz_file.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kStorage}, [&] {
    const axle::FuzzFile bytes(data, size);
    axle::load_safetensors(bytes.path());
  });
  return 0;
}
