// Opens bytes as the index of a token file with 200 bytes of ids, and reads all documents.
#include "fuzz_file.h"
#include "io/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const axle::FuzzFolder folder;
  folder.write(std::string(200, '\7'), {"a.bin"});
  folder.write({reinterpret_cast<const char*>(data), size}, {"a.idx"});
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const axle::TokenFile file(folder.path() / "a");
    for (int64_t i = 0; i < file.num_documents(); ++i) file.ids_of(i);
  });
  return 0;
}
