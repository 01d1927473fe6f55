#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/parquet/parquet_texts.h"
#include "testing/checkout.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Thrown opened() {
  return thrown_by([] { ParquetTexts(reference_file("parquet/required.parquet"), "text"); });
}

TEST(ParquetLibrary, AFolderWithoutItIsNamed) {
  const TempDir dir;
  EnvironmentChange named("AXLE_ARROW", dir.path().string());
  const Thrown error = opened();
  EXPECT_EQ(error.code, ExitCode::kData);
  EXPECT_EQ(error.message, "AXLE_ARROW: expected a folder with libaxle_parquet.so, got '" +
                               dir.path().string() + "'; `./dev parquet` makes it");
}

TEST(ParquetLibrary, UnloadableLibraryIsNamed) {
  const TempDir dir;
  replace_file(dir / kParquetAdapterFile, "no library");
  EnvironmentChange named("AXLE_ARROW", dir.path().string());
  EXPECT_THAT(opened().message, AllOf(StartsWith(dir / kParquetAdapterFile),
                                      HasSubstr(": expected the library that reads Parquet, got "),
                                      EndsWith("; `./dev parquet` makes it again")));
}

// A library that was made for another program: any library without the function.
TEST(ParquetLibrary, LibraryWithoutTheFunctionIsNamed) {
  const TempDir dir;
  std::filesystem::path library;
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/lib"}) {
    if (path_exists(std::filesystem::path(folder) / "libm.so.6"))
      library = std::filesystem::path(folder) / "libm.so.6";
  }
  if (library.empty()) GTEST_SKIP() << "no libm.so.6 where Linux has it";
  std::filesystem::copy_file(library, dir / kParquetAdapterFile);
  EnvironmentChange named("AXLE_ARROW", dir.path().string());
  EXPECT_THAT(opened().message, HasSubstr("got one without the function axle_parquet_adapter"));
}

TEST(ParquetLibrary, MissingLibraryIsReportedWithTheFileAndTheCommand) {
  EnvironmentChange named("AXLE_ARROW", std::nullopt);
  if (find_parquet_adapter()) GTEST_SKIP() << "the library is here";
  EXPECT_THAT(opened().message,
              AllOf(StartsWith(reference_file("parquet/required.parquet")),
                    HasSubstr(": expected libaxle_parquet.so, with which Arrow's library reads "
                              "Parquet, got none; `./dev parquet` fetches it")));
}

}  // namespace
}  // namespace axle
