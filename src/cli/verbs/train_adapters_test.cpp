// `train --init-from MODEL --lora` and `--qlora`: adapters are trained, the model below them stays
// bit for bit, and the adapters are exported.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run_test.h"
#include "interop/model_folder.h"
#include "io/safetensors.h"
#include "layers/products/lora_product.h"
#include "layers/products/quantized_product.h"
#include "testing/checkout.h"
#include "testing/layer_call.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// The model that exported adapters belong to.
std::string read_base(const fs::path& adapters) {
  return nlohmann::json::parse(read_file(adapters / "adapter_config.json"))
      .at("base_model_name_or_path");
}

bool has_numbers(const HostTensor& x) {
  return std::ranges::any_of(x.values<float>(), [](float value) { return value != 0; });
}

class TrainAdapters : public ::testing::Test {
 protected:
  // Trains the model of testdata/reference for three steps, with these flags.
  Ran train(const std::string& model, const Arguments& flags) {
    return run_axle(joined({"train", "--init-from", reference_file(model), "--data", "synthetic",
                            "--steps", "3", "--dir", dir_ / "run", "--backend", "interpreter",
                            "--set", "input.batch_size=2", "--set", "input.seq_len=8"},
                           flags));
  }
  // Expects the trained model to be what its start was, beside adapters that have changed. Returns
  // it.
  LoadedModel expect_adapters_alone(const std::string& model, size_t num_adapters) const {
    const Report none = [](const std::string&) {};
    LoadedModel trained = load_model(dir_ / "run", Weights::kTrained, none, RunData::kAny);
    const std::vector<std::string> adapters = adapter_paths(*trained.model);
    EXPECT_EQ(adapters.size(), 2 * num_adapters);
    for (const std::string& path : adapters) {
      // The second matrix of an adapter has begun with zeros.
      EXPECT_TRUE(has_numbers(trained.parameters.at(path))) << path;
    }
    const ModelParameters start =
        load_initial_parameters(reference_file(model), *trained.model, none);
    EXPECT_EQ(start.by_path.size() + adapters.size(), trained.parameters.size());
    for (const auto& [path, value] : start.by_path)
      EXPECT_EQ(trained.parameters.at(path), value) << path;
    return trained;
  }
  // Exports the adapters of the run and expects this many, with numbers in both matrices.
  void expect_export(size_t num_modules) const {
    const Ran ran =
        run_axle({"export", dir_ / "run", "--format", "peft", "--out", dir_ / "adapters"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Tree<HostTensor> written = load_safetensors(dir_ / "adapters/adapter_model.safetensors");
    EXPECT_EQ(written.size(), 2 * num_modules);
    for (const auto& [name, value] : written) EXPECT_TRUE(has_numbers(value)) << name;
  }
  // Expects the exported adapters to be the run again, and a run that begins with them to go on
  // with all that this one has trained.
  void expect_read_again(const LoadedModel& run) {
    const Report none = [](const std::string&) {};
    const LoadedModel read = load_model(dir_ / "adapters", Weights::kTrained, none, RunData::kAny);
    EXPECT_EQ(read.parameters, run.parameters);
    const HostTensor ids({1, 4}, {3, 1, 2, 5});
    const auto logits = [&](const LoadedModel& model) {
      return testing::call_layer(*model.model, model.parameters,
                                 {{"batch/input_ids", ids.astype(DType::kI32)}},
                                 {.method = "logits"})
          .outputs[0];
    };
    EXPECT_EQ(logits(read), logits(run));
    const Ran ran = run_axle({"train", "--init-from", dir_ / "adapters", "--data", "synthetic",
                              "--steps", "2", "--dir", dir_ / "again", "--backend", "interpreter",
                              "--set", "input.batch_size=2", "--set", "input.seq_len=8"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const LoadedModel again = load_model(dir_ / "again", Weights::kTrained, none, RunData::kAny);
    size_t num_changed = 0, num_changed_first = 0;
    const ModelParameters start =
        load_initial_parameters(fs::path(read_base(dir_ / "adapters")), *run.model, none);
    for (const auto& [path, value] : run.parameters) {
      num_changed += again.parameters.at(path) != value;
      const auto at = start.by_path.find(path);
      num_changed_first += at == start.by_path.end() || at->second != value;
    }
    EXPECT_EQ(num_changed, num_changed_first);
  }
  TempDir dir_;
};

// Two layers of a loop with four projections of attention and three of feed-forward, and a head.
constexpr const char* kLlama = "hugging_face/llama";
constexpr size_t kAdaptersOfLlama = 8, kModulesOfLlama = 15;

TEST_F(TrainAdapters, TrainsAdaptersOfPlainWeights) {
  const Ran ran = train(kLlama, {"--lora", "rank=2,alpha=4"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(quantized_products(*expect_adapters_alone(kLlama, kAdaptersOfLlama).model).empty());
  expect_export(kModulesOfLlama);
}

// What is trained besides goes with the adapters, or the export says what to do.
TEST_F(TrainAdapters, TrainsAdaptersWithOtherParameters) {
  const auto exported = [&](const std::string& patterns) {
    std::filesystem::remove_all(dir_ / "run");
    std::filesystem::remove_all(dir_ / "adapters");
    const Ran ran = train(kLlama, {"--lora", "rank=2,at=**.attention.**,also_train=" + patterns});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return run_axle({"export", dir_ / "run", "--format", "peft", "--out", dir_ / "adapters",
                     "--base", reference_file(kLlama)});
  };
  const Ran good = exported("[**.norm.scale,**.lm_head.weight,**.output_norm.scale]");
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, ::testing::HasSubstr("adapters of 8 modules of a llama, 6 modules kept"));
  const Tree<HostTensor> written = load_safetensors(dir_ / "adapters/adapter_model.safetensors");
  const LoadedModel run = load_model(
      dir_ / "run", Weights::kTrained, [](const std::string&) {}, RunData::kAny);
  EXPECT_EQ(written.at("base_model.model.model.norm.weight"),
            run.parameters.at("model/decoder/output_norm/scale"));
  EXPECT_EQ(written.size(), 16u + 6u);
  expect_read_again(run);
  const Ran refused = exported("**.up.weight");
  EXPECT_EQ(refused.code, 0) << "it has no adapter: " << refused.err;
  std::filesystem::remove_all(dir_ / "run");
  ASSERT_EQ(train(kLlama, {"--lora", "rank=2,also_train=**.up.weight"}).code, 0);
  std::filesystem::remove_all(dir_ / "adapters");
  const Ran both =
      run_axle({"export", dir_ / "run", "--format", "peft", "--out", dir_ / "adapters"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, ::testing::HasSubstr("up_proj.weight; merge them (--format hf)"));
}

// peft has the head as a module of its own, whose weight it ties.
TEST_F(TrainAdapters, TrainsAdaptersWithATiedEmbedding) {
  const Ran ran = train("hugging_face/llama_tied",
                        {"--lora", "rank=2,at=**.attention.**,also_train=**.emb.weight"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran done = run_axle({"export", dir_ / "run", "--format", "peft", "--out", dir_ / "adapters",
                             "--base", reference_file("hugging_face/llama_tied")});
  ASSERT_EQ(done.code, 0) << done.err;
  const Tree<HostTensor> written = load_safetensors(dir_ / "adapters/adapter_model.safetensors");
  EXPECT_EQ(written.at("base_model.model.lm_head.weight"),
            written.at("base_model.model.model.embed_tokens.weight"));
  const auto config = nlohmann::json::parse(read_file(dir_ / "adapters/adapter_config.json"));
  EXPECT_EQ(config["modules_to_save"], nlohmann::json({"lm_head", "model.embed_tokens"}));
  EXPECT_EQ(config["ensure_weight_tying"], true);
  expect_read_again(load_model(
      dir_ / "run", Weights::kTrained, [](const std::string&) {}, RunData::kAny));
}

TEST_F(TrainAdapters, TrainsAdaptersOfQuantizedCodes) {
  const Ran ran = train(kLlama, {"--qlora", "rank=2,alpha=4,bits=8,group=8"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ::testing::HasSubstr("8 weights became codes, 8 of them rounded"));
  const LoadedModel trained = expect_adapters_alone(kLlama, kAdaptersOfLlama);
  EXPECT_EQ(quantized_products(*trained.model).size(), kAdaptersOfLlama);
  expect_export(kModulesOfLlama);
}

}  // namespace
}  // namespace axle
