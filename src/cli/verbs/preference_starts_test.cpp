// `train --init-from START --dpo` from a start of any kind: plain weights, adapters, codes, and
// runs that have learned from pairs themselves.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "cli/run_test.h"
#include "io/safetensors.h"
#include "testing/checkout.h"
#include "train/run_result_test.h"

namespace axle {
namespace {

bool holds(const std::string& name, std::string_view part) { return name.find(part) != name.npos; }

class PreferenceStarts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pairs, text;
    for (int i = 0; i < 6; ++i) {
      const std::string n = std::to_string(i);
      pairs += R"({"prompt": "q)" + n + R"(", "chosen": "yes", "rejected": "no"})" + "\n";
      text += "A line of a text, as there are others: " + n + "\n";
    }
    replace_file(dir_ / "pairs.jsonl", pairs);
    replace_file(dir_ / "text.txt", text);
    run_well(joined({"train", "quickstart", "--steps", "1", "--data", dir_ / "text.txt"},
                    joined(tiny_quickstart(), in("start"))));
  }
  Arguments in(const std::string& run) const {
    return {"--dir", dir_ / run, "--backend", "interpreter"};
  }
  static std::string run_well(const Arguments& arguments) {
    const Ran ran = run_axle(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
  Arguments from(const std::string& start, const std::string& data) const {
    return joined(
        {"train", "--init-from", dir_ / start, "--data", dir_ / data},
        set_flags({"input.seq_len=192", "input.batch_size=3", "input.split=all", "evalers={}",
                   "log_every_steps=1", "learner.optimizer.learning_rate.peak=0.02",
                   "learner.optimizer.learning_rate.warmup_steps=1"}));
  }
  // Trains from `start` on pairs and expects that they are learned, beginning with no difference
  // between the policy and the reference. Returns the newest checkpoint.
  RestoredTensors prefer(const std::string& start, const std::string& run,
                         const Arguments& flags = {}) {
    SCOPED_TRACE(run);
    run_well(joined(joined(from(start, "pairs.jsonl"), {"--dpo", "beta=0.5", "--steps", "6"}),
                    joined(flags, in(run))));
    std::vector<nlohmann::json> steps;
    for (auto& record : records_of(dir_ / run))
      if (!record.contains("split")) steps.push_back(std::move(record));
    EXPECT_EQ(steps.size(), 6u);
    if (steps.empty()) return {};
    EXPECT_NEAR(steps.front().at("loss").get<double>(), std::log(2), 1e-6);
    EXPECT_NEAR(steps.front().at("margin").get<double>(), 0, 1e-6);
    EXPECT_LT(steps.back().at("loss").get<double>(), std::log(2) - 1e-3);
    EXPECT_GT(steps.back().at("margin").get<double>(), 1e-3);
    EXPECT_EQ(steps.back().at("preferred"), 1);
    return state_of(dir_ / run);
  }
  // Expects the model of a run to decode and to be exported.
  void expect_usable(const std::string& run) {
    SCOPED_TRACE(run);
    run_well({"generate", "--from", dir_ / run, "--prompt", "q", "--max-tokens", "2", "--backend",
              "interpreter"});
    run_well({"export", dir_ / run, "--out", dir_ / (run + ".hf")});
  }
  // The same of a run with adapters, and that the merged model computes the same of a text.
  void expect_mergeable(const std::string& run) {
    SCOPED_TRACE(run);
    expect_usable(run);
    run_well({"export", dir_ / run, "--format", "peft", "--out", dir_ / (run + ".peft")});
    run_well({"checkpoint", "merge", dir_ / run, "--dir", dir_ / (run + ".merged")});
    const auto loss = [&](const std::string& model) {
      const std::string out =
          run_well({"eval", "--from", dir_ / model, "--data", dir_ / "text.txt", "--json",
                    "--backend", "interpreter", "--set", "input.split=all"});
      return nlohmann::json::parse(out).at("metrics").at("loss").get<double>();
    };
    EXPECT_NEAR(loss(run), loss(run + ".merged"), 1e-4);
  }
  // Expects the reference to have adapters of its own alone, as they were at the start: those of
  // `start`, where new ones change nothing. The policy has all else, as it was.
  static void expect_one_base(const RestoredTensors& state, const RestoredTensors* start) {
    const std::string policy = "model/policy/", reference = "state/model/reference/";
    int own = 0, adapters = 0;
    for (const auto& [name, value] : state.tensors) {
      const bool is_adapter = holds(name, "/lora_");
      adapters += is_adapter && name.starts_with(policy);
      if (name.starts_with(reference)) {
        ++own;
        EXPECT_TRUE(is_adapter) << name;
        EXPECT_EQ(value, start ? start->tensors.at(policy + name.substr(reference.size()))
                               : HostTensor(value.type()))
            << name;
      } else if (start && name.starts_with(policy) && !is_adapter) {
        EXPECT_EQ(value, start->tensors.at(name)) << name;
      }
    }
    EXPECT_GE(own, 10);
    EXPECT_EQ(own, adapters);
  }

  TempDir dir_;
};

TEST_F(PreferenceStarts, BeginsWithPlainWeights) {
  const RestoredTensors first = prefer("start", "first"), second = prefer("first", "second");
  for (const auto& [name, value] : second.tensors) {
    const std::string reference = "state/model/reference/";
    if (!name.starts_with(reference)) continue;
    EXPECT_EQ(value, first.tensors.at("model/policy/" + name.substr(reference.size()))) << name;
  }
  expect_usable("second");
  // Without --dpo, the policy goes on alone.
  run_well(joined(from("first", "text.txt"), joined({"--steps", "1"}, in("text"))));
  EXPECT_TRUE(state_of(dir_ / "text").tensors.contains("model/decoder/emb/weight"));
}

// A model that compares no answers would learn, and be judged by, the worse ones too.
TEST_F(PreferenceStarts, OrdinaryModelIsNotEvaluatedOnPairs) {
  const Ran ran = run_axle({"eval", "--from", dir_ / "start", "--data", dir_ / "pairs.jsonl",
                            "--backend", "interpreter", "--set", "input.seq_len=192"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err,
              ::testing::HasSubstr("input: expected texts or conversations for this model, "
                                   "got pairs of answers"));
}

TEST_F(PreferenceStarts, BeginsWithAdapters) {
  const RestoredTensors first = prefer("start", "first", {"--lora", "rank=2"});
  expect_one_base(first, nullptr);
  expect_one_base(prefer("first", "second"), &first);
  expect_mergeable("second");
  prefer("second.merged", "fourth", {"--lora", "rank=2"});
  // Adapters that began on a text.
  run_well(joined(from("start", "text.txt"),
                  joined({"--lora", "rank=2", "--steps", "2"}, in("adapted"))));
  prefer("adapted", "third");
}

TEST_F(PreferenceStarts, BeginsWithQuantizedCodes) {
  const RestoredTensors first = prefer("start", "first", {"--qlora", "rank=2,bits=8,group=8"});
  expect_one_base(first, nullptr);
  EXPECT_TRUE(std::ranges::any_of(
      first.tensors, [](const auto& tensor) { return holds(tensor.first, "/codes"); }));
  expect_one_base(prefer("first", "second"), &first);
  expect_mergeable("second");
}

// The blocks of the file are the codes of both models.
TEST_F(PreferenceStarts, BeginsWithBlocksOfAGgufFile) {
  run_well(joined(
      {"train", "quickstart", "--steps", "1", "--data", dir_ / "text.txt"},
      joined(joined(tiny_quickstart(), set_flags({"model.decoder.model_dim=32"})), in("wide"))));
  run_well({"export", dir_ / "wide", "--format", "gguf", "--dtype", "q8_0", "--out",
            dir_ / "wide.gguf"});
  const RestoredTensors first = prefer("wide.gguf", "first", {"--qlora", "rank=2"});
  expect_one_base(first, nullptr);
  int num_codes = 0;
  for (const auto& [name, value] : first.tensors) {
    const bool is_code = holds(name, "/codes");
    num_codes += is_code;
    EXPECT_FALSE(is_code && !name.starts_with("model/policy/")) << name;
  }
  EXPECT_GE(num_codes, 7);
  expect_mergeable("first");
}

// The adapters of the folder go on in the policy.
TEST_F(PreferenceStarts, BeginsWithAPeftFolder) {
  run_well(joined(from("start", "text.txt"),
                  joined({"--lora", "rank=2", "--steps", "2"}, in("adapted"))));
  run_well({"export", dir_ / "start", "--out", dir_ / "base"});
  run_well({"export", dir_ / "adapted", "--format", "peft", "--base", dir_ / "base", "--out",
            dir_ / "peft"});
  const RestoredTensors first = prefer("peft", "first");
  bool has_numbers = false;
  for (const auto& [name, value] : first.tensors) {
    if (!name.starts_with("state/model/reference/")) continue;
    EXPECT_TRUE(holds(name, "/lora_")) << name;
    has_numbers = has_numbers || (holds(name, "/lora_up") && value != HostTensor(value.type()));
  }
  EXPECT_TRUE(has_numbers);
  expect_one_base(prefer("first", "second"), &first);
  expect_mergeable("second");
}

// DeepSeek-V3's routers have state: the reference has a copy of it, and reads the other weights.
TEST_F(PreferenceStarts, BeginsWithAModelWhoseLayersHaveState) {
  const std::filesystem::path start = dir_ / "deepseek",
                              reference = reference_file("hugging_face/deepseek_v3");
  make_directories(start);
  std::filesystem::copy_file(reference / "model.safetensors", start / "model.safetensors");
  auto config = nlohmann::json::parse(read_file(reference / "config.json"));
  config["max_position_embeddings"] = 192;
  replace_file(start / "config.json", config.dump());
  nlohmann::json vocabulary = {{"?", 0}};  // the model has 40 rows
  for (const char c : std::string("abcdefghijklmnopqrstuvwxyz0123 |<>_\n"))
    vocabulary[std::string(1, c)] = vocabulary.size();
  const nlohmann::json tokenizer = {{"model",
                                     {{"type", "BPE"},
                                      {"vocab", vocabulary},
                                      {"merges", nlohmann::json::array()},
                                      {"unk_token", "?"}}}};
  replace_file(start / "tokenizer.json", tokenizer.dump());
  const RestoredTensors first = prefer("deepseek", "first", {"--lora", "rank=2"});
  int num_states = 0;
  for (const auto& [name, value] : first.tensors) {
    const std::string own = "state/model/reference/";
    if (!name.starts_with(own)) continue;
    EXPECT_TRUE(holds(name, "/router/") || holds(name, "/lora_")) << name;
    if (!name.ends_with("/router/bias")) continue;
    ++num_states;
    const Tree<HostTensor> tensors = load_safetensors(start / "model.safetensors");
    EXPECT_EQ(value.size(), 2 * 8) << name;  // of two layers, as the file has them
    for (int64_t i = 0; i < value.size(); ++i) {
      const std::string layer = "model.layers." + std::to_string(1 + i / 8);
      EXPECT_EQ(value.at(i), tensors.at(layer + ".mlp.gate.e_score_correction_bias").at(i % 8))
          << i;
    }
  }
  EXPECT_EQ(num_states, 1);
  EXPECT_TRUE(
      first.tensors.contains("state/model/policy/decoder/layers/layer1/layer/"
                             "feed_forward/body/router/bias"));
  expect_usable("first");
}

}  // namespace
}  // namespace axle
