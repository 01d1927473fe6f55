// Reads bytes as the adapter_config.json of a folder of peft, beside good adapters of a tiny model.
// Runs from the root of a checkout.
// seeds: testdata/reference/peft/*/adapter_config.json
#include "fuzz_file.h"
#include "interop/hugging_face.h"
#include "interop/peft_adapters.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  static const axle::FuzzFolder folder;
  static const axle::ImportedModel base = [] {
    const std::filesystem::path reference = "testdata/reference";
    std::filesystem::copy(reference / "peft/llama" / axle::kPeftTensors,
                          folder.path() / axle::kPeftTensors);
    return axle::read_hugging_face(reference / "hugging_face/llama");
  }();
  folder.write({reinterpret_cast<const char*>(data), size}, {axle::kPeftConfig.data()});
  axle::expect_lines_or_result({ExitCode::kUser, ExitCode::kData}, [&] {
    axle::with_peft_adapters(base, folder.path());
    axle::peft_base(folder.path());
  });
  return 0;
}
