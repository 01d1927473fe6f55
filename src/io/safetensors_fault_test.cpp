// Damaged files: cut at every byte, or with random bytes changed. Nothing may crash, and no partial
// tensor may be returned.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string small_file(const std::string& path) {
  save_safetensors(path,
                   {{"a/weight", HostTensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})},
                    {"step", HostTensor::scalar(7)}},
                   {{"format", "axle"}});
  return read_file(path);
}

// Writes without the waits of an atomic replacement.
void overwrite(const std::string& path, std::string_view bytes) {
  FileWriter writer(path);
  writer.write(bytes);
  writer.close();
}

TEST(SafetensorsFault, EveryCutIsFound) {
  const TempDir dir;
  const std::string path = dir / "x", bytes = small_file(path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    overwrite(path, bytes.substr(0, size));
    EXPECT_THAT([&] { SafetensorsFile file(path); },
                ThrowsMessage<StorageError>(HasSubstr(
                    path + (size > 8 ? ": offset " : ": expected a safetensors file, got "))))
        << size;
  }
}

TEST(SafetensorsFault, ChangedHeaderBytesNeverReadPastTheFile) {
  const TempDir dir;
  const std::string path = dir / "x", bytes = small_file(path);
  uint64_t header_bytes;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = bytes;
    damaged[random() % (8 + header_bytes)] = static_cast<char>(random());
    overwrite(path, damaged);
    refused += error_of<StorageError>([&] {
                 for (const auto& [name, tensor] : load_safetensors(path))
                   EXPECT_LE(tensor.type().num_bytes(), bytes.size());
               }) != "no error";
  }
  EXPECT_GT(refused, 500);  // the others have changed names, metadata or spaces
}

}  // namespace
}  // namespace axle
