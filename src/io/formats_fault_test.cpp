// Damaged files of every format in this folder: the reader must give an error of its own or a
// result.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "io/event_file.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/zip_archive.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"
#include "testing/zip_writer.h"

namespace axle {
namespace {

TEST(FormatsFault, SafetensorsWithEveryExtremeInEveryField) {
  const TempDir dir;
  const std::string path = dir / "x.safetensors";
  save_safetensors(
      path,
      {{"a", HostTensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})}, {"b", HostTensor::scalar(7)}},
      {{"format", "axle"}});
  const std::string bytes = read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const auto header = read_json(std::string_view(bytes).substr(8, length));
  int refused = 0;
  const auto attempt = [&](const std::string& file, const std::string& what) {
    FileWriter(path).write(file);
    refused += ends_well([&] { load_safetensors(path); }, {ExitCode::kStorage}, what);
  };
  for (const auto& [what, text] : json_mutants(header, [](const auto& j) { return j.dump(); })) {
    const uint64_t size = text.size();
    attempt(std::string(reinterpret_cast<const char*>(&size), 8) + text + bytes.substr(8 + length),
            what);
  }
  for (const std::string& damaged : mutants(bytes, 1000)) attempt(damaged, "at random");
  EXPECT_GT(refused, 500);
}

TEST(FormatsFault, ZipArchives) {
  const TempDir dir;
  const std::string bytes = test_zip({{"a.txt", "some text"}, {"b/c.txt", "more"}, {"b/", ""}});
  for (const std::string& damaged : mutants(bytes, 500, 100)) {
    FileWriter(dir / "x.zip").write(damaged);
    ends_well([&] { unpack_zip(dir / "x.zip", dir / "out"); },
              {ExitCode::kData, ExitCode::kStorage}, "at random");
    remove_tree(dir / "out");
  }
}

TEST(FormatsFault, TfRecords) {
  const std::string bytes = tfrecord_frame("one") + tfrecord_frame("") + tfrecord_frame("three");
  int refused = 0;
  for (const std::string& damaged : mutants(bytes, 3000, 16)) {
    refused += ends_well(
        [&] {
          TfRecordReader reader(damaged, "events");
          while (reader.next()) {
          }
        },
        {ExitCode::kStorage}, "at random");
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace axle
