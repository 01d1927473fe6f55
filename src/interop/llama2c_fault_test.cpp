// Damaged weight files: the error names file and offset; there is never a crash or a huge
// allocation.
#include <gmock/gmock.h>

#include <limits>

#include "interop/llama2c.h"
#include "io/file.h"
#include "testing/error_of.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Weights of 0.5; dim 4, hidden 3, 1 layer, 2 heads of 2, 1 key/value head, 5 tokens, 6 positions.
std::string weights() {
  const int32_t header[] = {4, 3, 1, 2, 1, 5, 6};
  constexpr int kNumFloats = 20 + 4 + 16 + 8 + 8 + 16 + 4 + 12 + 12 + 12 + 4 + 12;
  std::string out(reinterpret_cast<const char*>(header), sizeof(header));
  const std::vector<float> floats(kNumFloats, 0.5f);
  return out.append(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
}

TEST(Llama2cFault, DamagedFiles) {
  const TempDir dir;
  const std::string path = dir / "model.bin";
  int refused = 0;
  for (const std::string& bytes : mutants(weights(), 2000, 28)) {
    FileWriter(path).write(bytes);
    refused += ends_well([&] { read_llama2c(path); }, {ExitCode::kData}, "at random");
  }
  EXPECT_GT(refused, 500);
}

TEST(Llama2cFault, WeightsThatAreNotFiniteAreNamed) {
  const TempDir dir;
  const std::string path = dir / "model.bin";
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::string bytes = weights();
    std::memcpy(bytes.data() + 28 + 4 * 25, &bad, sizeof(bad));  // the second number of q
    replace_file(path, bytes);
    EXPECT_THAT(error_of<DataError>([&] { read_llama2c(path); }),
                ::testing::StartsWith(path + ": offset 128: expected finite weights, got "));
    EXPECT_THAT(
        error_of<DataError>([&] { read_llama2c(path); }),
        ::testing::HasSubstr("decoder/layers/layer0/attention/body/qkv/inner/q_proj/weight"));
  }
}

}  // namespace
}  // namespace axle
