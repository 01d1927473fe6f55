// Manifests whose hash matches but whose fields are wrong: written by a faulty program, or by an
// attacker.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "checkpoint/checkpoint_test.h"
#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "io/file.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// Returns the manifest's text with its matching hash.
std::string with_hash(const nlohmann::ordered_json& manifest) {
  std::string text = manifest.dump(1) + "\n";
  constexpr size_t kAt = 14, kDigits = 64;
  if (text.size() < kAt + kDigits) return text;
  text.replace(kAt, kDigits, std::string(kDigits, '0'));
  return text.replace(kAt, kDigits, sha256_hex(text));
}

class ManifestFault : public ::testing::Test {
 protected:
  ManifestFault() {
    write_checkpoint(dir_.path(), 2, example_state(2), example_metadata(2),
                     {.file_bytes = 20000, .chunk_bytes = 4000});
    path_ = checkpoint_folder(dir_.path(), 2) / kManifestName;
  }
  bool refused(const std::string& text, const std::string& what) {
    FileWriter(path_).write(text);
    return ends_well(
        [&] { StoredCheckpoint(dir_.path(), 2).read([](const std::string&, HostTensor) {}); },
        {ExitCode::kStorage}, what);
  }
  const InMemory in_memory_;
  const TempDir dir_;
  std::filesystem::path path_;
};

TEST_F(ManifestFault, EveryFieldWithEveryExtreme) {
  const auto manifest = read_json(read_file(path_));
  EXPECT_FALSE(refused(with_hash(manifest), "as it was"));
  int count = 0;
  for (const auto& [what, text] : json_mutants(manifest, with_hash)) count += refused(text, what);
  EXPECT_GT(count, 500);
}

TEST_F(ManifestFault, BytesAtRandomUnderAHashThatFits) {
  std::string text = read_file(path_);
  for (std::string damaged : mutants(text, 2000, 600)) {
    constexpr size_t kAt = 14, kDigits = 64;
    if (damaged.size() > kAt + kDigits) {
      damaged.replace(kAt, kDigits, std::string(kDigits, '0'));
      damaged.replace(kAt, kDigits, sha256_hex(damaged));
    }
    refused(damaged, "at random");
  }
}

}  // namespace
}  // namespace axle
