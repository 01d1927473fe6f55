// A run that began with a model of another program: its exports are of that model's family.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/run_test.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/reference_models_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"
#include "testing/test_name.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class RunOfAModel : public ::testing::Test {
 protected:
  // One step from the model, whose export is the folder "out".
  void train(const fs::path& model, const Arguments& more = {}) {
    succeed(joined({"train", "--init-from", model, "--data", "synthetic", "--steps", "1", "--dir",
                    dir_ / "run", "--backend", "interpreter", "--set", "input.batch_size=1",
                    "--set", "input.seq_len=4"},
                   more));
  }
  void export_run(const std::string& format, const std::string& from = "run") {
    succeed({"export", dir_ / from, "--format", format, "--out", dir_ / ("out." + format)});
  }
  static void succeed(const Arguments& arguments) {
    const Ran ran = run_axle(arguments);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("it becomes a"), std::string::npos) << ran.err;
  }
  std::string exported_family() const {
    return Json::parse(read_file(dir_ / "out.hf/config.json")).at("model_type");
  }
  static std::vector<std::string> tensors_in(const fs::path& folder) {
    return SafetensorsFolder(folder).names();
  }
  TempDir dir_;
};

class RunOfAFamily : public RunOfAModel, public ::testing::WithParamInterface<std::string> {};

TEST_P(RunOfAFamily, KeepsTheTensorsAndFamilyOfItsModel) {
  const fs::path model = reference_file("hugging_face/" + GetParam());
  train(model);
  export_run("hf");
  EXPECT_EQ(exported_family(), Json::parse(read_file(model / "config.json")).at("model_type"));
  EXPECT_EQ(tensors_in(dir_ / "out.hf"), tensors_in(model));
}

constexpr auto kNamedByModel = [](const auto& info) { return test_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Models, RunOfAFamily,
                         ::testing::Values("llama", "mistral", "mixtral", "qwen2", "qwen3",
                                           "qwen3_moe", "phi3", "gemma2", "gemma3", "olmo2",
                                           "deepseek_v3", "mamba2", "gpt2"),
                         kNamedByModel);

TEST_F(RunOfAModel, GgufModelsKeepTheirFamily) {
  for (const std::string name : {"phi3", "qwen2", "llama"}) {
    for (const char* old : {"run", "next", "out.hf", "import"}) remove_tree(dir_ / old);
    const fs::path model = reference_file("gguf/models/" + name + ".gguf");
    train(model);
    export_run("hf");
    EXPECT_EQ(exported_family(), name);
    // By way of an import, and without a run.
    remove_tree(dir_ / "out.hf");
    succeed({"import", model, "--out", dir_ / "import"});
    export_run("hf", "import");
    EXPECT_EQ(exported_family(), name);
    remove_tree(dir_ / "out.hf");
    succeed({"export", model, "--format", "hf", "--out", dir_ / "out.hf"});
    EXPECT_EQ(exported_family(), name);
  }
}

// Phi-3 stores its projections as one matrix, which adapters must be for.
TEST_F(RunOfAModel, AdaptersMatchTheModulesOfItsModel) {
  const fs::path model = reference_file("hugging_face/phi3");
  train(model, {"--lora", "rank=2"});
  export_run("peft");
  const std::vector<std::string> stored = tensors_in(model);
  const std::set<std::string> there(stored.begin(), stored.end());
  const std::string before = "base_model.model.", behind = ".lora_A.weight";
  size_t num_modules = 0;
  for (const auto& [name, value] : load_safetensors(dir_ / "out.peft/adapter_model.safetensors")) {
    if (!name.ends_with(behind)) continue;
    ++num_modules;
    EXPECT_TRUE(there.contains(
        name.substr(before.size(), name.size() - before.size() - behind.size()) + ".weight"))
        << name;
  }
  EXPECT_GT(num_modules, 4u);
  // Merged, too, and in a run that goes on from it.
  succeed({"checkpoint", "merge", dir_ / "run", "--dir", dir_ / "merged"});
  export_run("hf", "merged");
  EXPECT_EQ(tensors_in(dir_ / "out.hf"), stored);
}

}  // namespace
}  // namespace axle
