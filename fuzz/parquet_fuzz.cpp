// Opens bytes as a Parquet file and reads the texts of a column, and whole rows. Arrow's library,
// which reads them, is not instrumented: `./dev parquet` fetches it, AXLE_ARROW names its folder.
// seeds: testdata/reference/parquet
#include "fuzz_file.h"
#include "io/parquet/parquet_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  constexpr std::string_view kColumns[] = {"text", "messages", "id"};
  const axle::FuzzFile bytes(data, size);
  axle::expect_result_or_error({ExitCode::kData, ExitCode::kStorage, ExitCode::kDoesNotFit}, [&] {
    axle::ParquetTexts texts(bytes.path(), "text");
    while (texts.next()) {
    }
  });
  axle::expect_result_or_error({ExitCode::kData, ExitCode::kStorage, ExitCode::kDoesNotFit}, [&] {
    axle::ParquetTexts rows(bytes.path(), kColumns);
    while (rows.next()) {
    }
  });
  return 0;
}
