// What an import says of a tokenizer's template, and of folders around a model.
#include <gmock/gmock.h>

#include "base/error.h"
#include "interop/import_model.h"
#include "interop/model_folder.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A model can be used without its template.
TEST(ImportMessages, InvalidTemplateIsReportedWithItsLine) {
  const TempDir dir;
  fs::copy(reference_file("lm_eval/named"), dir / "model");
  EXPECT_EQ(import_model({.source = dir / "model", .dir = dir / "good"}).chat_template, "");
  replace_file(dir / "model/chat_template.jinja",
               "{% for m in messages %}\n{{ m.content }}\n{% endfro %}\n");
  const ImportReport report = import_model({.source = dir / "model", .dir = dir / "bad"});
  EXPECT_THAT(report.chat_template, HasSubstr("chat template:3: expected "));
  EXPECT_THAT(to_text(report), HasSubstr("\nWARNING: " + report.chat_template + "; conversations"));
  EXPECT_THAT(to_text(report), EndsWith("input.chat_template)\n"));
}

TEST(ImportMessages, AFolderOfAHubsCacheNamesItsSnapshots) {
  const TempDir dir;
  const fs::path hub = dir / "hub/models--a--b";
  fs::create_directories(hub / "snapshots/1f");
  fs::create_directories(hub / "refs");
  const auto errors = [&] {
    return std::vector<std::string>{
        error_of<ConfigError>([&] { import_model({.source = hub, .dir = dir / "out"}); }),
        error_of<ConfigError>([&] { load_model(hub); })};
  };
  for (const std::string& error : errors()) {
    EXPECT_EQ(error, hub.string() +
                         ": expected a model, got a folder of a hub's cache; download a whole "
                         "model, snapshots holds none");
  }
  fs::copy(reference_file("hugging_face/llama"), hub / "snapshots/0a");
  for (const std::string& error : errors()) {
    EXPECT_EQ(error, hub.string() +
                         ": expected a model, got a folder of a hub's cache; name its snapshot " +
                         (hub / "snapshots/0a").string());
  }
  fs::copy(reference_file("hugging_face/llama"), hub / "snapshots/0b");
  EXPECT_THAT(errors()[0], HasSubstr("snapshots/0a or " + (hub / "snapshots/0b").string()));
}

}  // namespace
}  // namespace axle
