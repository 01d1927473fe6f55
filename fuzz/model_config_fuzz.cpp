// Reads bytes as the config.json of a model: its family describes the model and its weights.
// seeds: testdata/reference/hugging_face/*/config.json
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "fuzz_file.h"
#include "interop/families/family.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  axle::expect_result_or_error({ExitCode::kUser, ExitCode::kData}, [&] {
    const axle::ForeignConfig config(
        axle::json_as<axle::DataError>(
            "config.json",
            [&] {
              return axle::read_json({reinterpret_cast<const char*>(data), size});
            }),
        "config.json");
    const axle::Family& family = axle::family_of(config);
    family.model(config);
    family.weights(config);
    config.check_all_read({});
  });
  return 0;
}
