// Reads bytes as the index of a folder of safetensors files, and the bytes behind the first NUL as
// one of its files; then reads all tensors.
#include "fuzz_file.h"
#include "interop/foreign/safetensors_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  static const axle::FuzzFolder folder;
  folder.write({reinterpret_cast<const char*>(data), size},
               {"model.safetensors.index.json", "a.safetensors"});
  axle::expect_result_or_error({ExitCode::kData, ExitCode::kStorage, ExitCode::kDoesNotFit}, [&] {
    const axle::SafetensorsFolder tensors(folder.path());
    for (const std::string& name : tensors.names()) tensors.get(name);
  });
  return 0;
}
