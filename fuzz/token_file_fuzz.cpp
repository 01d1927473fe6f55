// Opens bytes as the index of a token file with 200 bytes of ids, and reads all documents.
#include <stdlib.h>

#include <filesystem>
#include <vector>

#include "fuzz_file.h"
#include "io/token_file.h"

namespace {

// A folder with the two parts of a token file as links to files in memory.
class TwoParts {
 public:
  TwoParts() {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  std::string with(const axle::FuzzFile& index, const axle::FuzzFile& ids) const {
    link(index, ".idx");
    link(ids, ".bin");
    return folder_ + "/a";
  }

 private:
  void link(const axle::FuzzFile& file, const char* ending) const {
    const std::string path = folder_ + "/a" + ending;
    std::filesystem::remove(path);
    std::filesystem::create_symlink(file.path(), path);
  }
  std::string folder_ = (std::filesystem::temp_directory_path() / "fuzz_XXXXXX").string();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const parts = new TwoParts;
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const std::vector<uint8_t> ids(200, 7);
    const axle::FuzzFile index(data, size), values(ids.data(), ids.size());
    const axle::TokenFile file(parts->with(index, values));
    for (int64_t i = 0; i < file.num_documents(); ++i) file.ids_of(i);
  });
  return 0;
}
