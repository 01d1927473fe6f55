// Opens bytes as a GGUF file and reads all that is in it. Blocks are dequantised once more from
// memory of just their size.
#include "fuzz_file.h"
#include "io/gguf/gguf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const axle::FuzzFile bytes(data, size);
    const axle::GgufFile file(bytes.path());
    for (const auto& entry : file.metadata().entries()) to_text(entry.value);
    for (const std::string& name : file.names()) {
      const axle::BlockType& type = *file.tensor(name).type;
      if (type.dequantize == nullptr) continue;
      std::vector<float> values(static_cast<size_t>(file.get(name).size()));
      type.dequantize(file.get_blocks(name).data(), std::ssize(values) / type.num_values,
                      values.data());
    }
  });
  return 0;
}
