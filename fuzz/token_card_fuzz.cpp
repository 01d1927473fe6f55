// Reads bytes as the card of a token file, and writes what it says once more.
#include "data/token_files/token_card.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const axle::FuzzFolder folder;
  folder.write({reinterpret_cast<const char*>(data), size}, {"x.json"});
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const auto card = axle::read_token_card(folder.path() / "x");
    if (!card) std::abort();
    const std::string text = axle::text_of_card(*card);
    folder.write(text, {"again.json"});
    if (axle::text_of_card(*axle::read_token_card(folder.path() / "again")) != text) std::abort();
  });
  return 0;
}
