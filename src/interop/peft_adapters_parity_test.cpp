// Compares models with adapters with peft: tools/oracle/peft_adapters.py.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "interop/export/peft_export.h"
#include "interop/import_model.h"
#include "interop/model_folder.h"
#include "interop/peft_config.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/layer_call.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

const Report kQuiet = [](const std::string&) {};

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const fs::path& folder : list_directory(reference_file("peft")))
    out.push_back(folder.filename().string());
  std::ranges::sort(out);
  return out;
}

class PeftParity : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_logits(const fs::path& model) const {
    const LoadedModel loaded = load_model(model, Weights::kTrained, kQuiet, RunData::kAny);
    const Tree<HostTensor> numbers = load_safetensors(folder_ / "numbers.safetensors");
    const HostTensor own =
        testing::call_layer(*loaded.model, loaded.parameters,
                            {{"batch/input_ids", numbers.at("ids")}}, {.method = "logits"})
            .outputs[0];
    const HostTensor& theirs = numbers.at("logits");
    ASSERT_EQ(own.shape(), theirs.shape());
    double largest = 0;
    for (int64_t i = 0; i < own.size(); ++i) largest = std::max(largest, std::abs(theirs.at(i)));
    for (int64_t i = 0; i < own.size(); ++i)
      ASSERT_NEAR(own.at(i), theirs.at(i), 1e-4 * largest) << i;
  }
  Tree<HostTensor> exported(const fs::path& model, const char* name) const {
    export_peft({.options = {.run = model}, .dir = dir_ / name}, kQuiet);
    return load_safetensors(fs::path(dir_ / name) / "adapter_model.safetensors");
  }

  TempDir dir_;
  const fs::path folder_ = reference_file("peft/" + GetParam());
};

TEST_P(PeftParity, LogitsMatchPeft) {
  expect_logits(folder_);
  import_model({.source = folder_, .dir = dir_ / "imported"});
  expect_logits(dir_ / "imported");
}

// Adapters of one matrix that holds several projections become one for each, and are written as one
// of the sum of their ranks. All others come back as they were.
TEST_P(PeftParity, AdaptersRoundTripBitForBit) {
  const Tree<HostTensor> own = exported(folder_, "out");
  const bool has_shared = GetParam() == "phi3" || GetParam() == "gpt2";
  const auto config = nlohmann::json::parse(read_file(folder_ / kPeftConfig));
  if (!has_shared) {
    EXPECT_EQ(own, load_safetensors(folder_ / "adapter_model.safetensors"));
  }
  fs::create_symlink(fs::canonical(folder_ / config["base_model_name_or_path"].get<std::string>()),
                     fs::path(dir_ / "out") / "base");
  EXPECT_EQ(exported(dir_ / "out", "again").size(), own.size());
  expect_logits(dir_ / "out");
}

// An import keeps which modules were kept whole.
TEST_P(PeftParity, ExportOfAnImportEqualsExportOfTheFolder) {
  import_model({.source = folder_, .dir = dir_ / "imported"});
  EXPECT_EQ(exported(dir_ / "imported", "of_import"), exported(folder_, "of_folder"));
  EXPECT_EQ(read_file(dir_ / "of_import/adapter_config.json"),
            read_file(dir_ / "of_folder/adapter_config.json"));
}

constexpr auto kNamedByCase = [](const auto& info) { return test_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Cases, PeftParity, ::testing::ValuesIn(cases()), kNamedByCase);

}  // namespace
}  // namespace axle
