// Parses bytes as JSON.
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    axle::json_as<axle::DataError>("file", [&] {
      axle::read_json({reinterpret_cast<const char*>(data), size}).dump();
    });
  });
  return 0;
}
