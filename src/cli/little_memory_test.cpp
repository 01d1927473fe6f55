// Runs every verb with files, models and texts that are larger than the free memory of the host.
// Each prints one line that says what does not fit and its bytes, and exits with code 6 before it
// reads any of it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "cli/run_test.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "interop/model_folder.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "layers/models/causal_lm.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

class LittleMemoryOf : public ::testing::Test {
 protected:
  void SetUp() override { replace_file(dir_ / "text.txt", "some text of a few bytes\n"); }

  // Makes a sparse file of this size that begins with `begin`.
  std::string sparse(const std::string& name, const std::string& begin, int64_t bytes) {
    replace_file(dir_ / name, begin);
    std::filesystem::resize_file(dir_ / name, static_cast<uintmax_t>(bytes));
    return dir_ / name;
  }
  // Makes a model folder whose config and manifest describe a large model. Its data file is small.
  std::string large_model() {
    TinyModel tiny = chain_model({{'a', 'b'}}, 260);
    const std::filesystem::path dir = dir_ / "model";
    save_byte_model(dir, tiny);
    std::string config = read_file(dir / "config.yaml");
    const std::string small = "model_dim: 260";
    config.replace(config.find(small), small.size(), "model_dim: 131072");
    replace_file(dir / "config.yaml", config);
    tiny.config.get_if<CausalLM>()->decoder.get_if<Decoder>()->model_dim = 131072;
    const auto model = tiny.config.build({}, Scope{.path = "model"});
    Manifest manifest{.step = 0, .metadata = {}, .chunk_bytes = kGiB, .files = {}, .tensors = {}};
    int64_t bytes = 0;
    for (const auto& [path, spec] : model->param_specs()) {
      manifest.tensors.emplace(path, StoredTensor{.type = spec.type(), .file = 0, .offset = bytes});
      bytes += static_cast<int64_t>(spec.type().num_bytes());
    }
    manifest.files = {
        {.name = "data_00000.bin",
         .bytes = bytes,
         .crc32c = std::vector<uint32_t>(static_cast<size_t>((bytes + kGiB - 1) / kGiB))}};
    replace_file(checkpoint_folder(dir / "checkpoints", 0) / kManifestName, to_text(manifest));
    return dir;
  }
  // Makes a file with one tensor of this many GiB.
  std::string large_tensor(const std::string& name, int64_t gib) {
    const std::string header =
        fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", name,
                    gib * kGiB / 4, gib * kGiB);
    const auto length = static_cast<uint64_t>(header.size());
    const std::string begin =
        std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
    return sparse("tensors", begin, std::ssize(begin) + gib * kGiB);
  }
  void expect(const std::vector<std::string>& command, const std::string& message) {
    const LittleMemory little(kGiB);
    const Ran ran = run_axle(command);
    EXPECT_EQ(ran.code, 6) << command[0] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_THAT(ran.err, HasSubstr(" available of "));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
  // Returns the command that trains the quickstart, made small enough for the interpreter.
  Arguments train(const std::string& data, const Arguments& more = {}) {
    const Arguments training = {"train",      "quickstart", "--backend", "interpreter", "--dir",
                                dir_ / "run", "--data",     data,        "--steps",     "1"};
    const Arguments small = set_flags({"evalers={}", "model.decoder.model_dim=8",
                                       "model.decoder.layers.num_layers=1", "input.batch_size=1"});
    return joined(joined(training, small), more);
  }
  TempDir dir_;
};

TEST_F(LittleMemoryOf, Texts) {
  const std::string text = sparse("large.txt", "text", 1024 * kGiB);
  const std::string message = text + ": expected 1.0 TiB of host memory for its text, got ";
  const Arguments in_memory = {"--set", fmt::format("input.memory_bytes={}", 2048 * kGiB)};
  expect(train(text, in_memory), message);
  expect(train(text, in_memory),
         ", or train on a token file, which axle data build makes in little memory");
  ASSERT_EQ(run_axle(train(dir_ / "text.txt", {"--set", "input.seq_len=16"})).code, 0);
  expect(joined({"eval", "--from", dir_ / "run", "--data", text, "--backend", "interpreter"},
                in_memory),
         message);
}

TEST_F(LittleMemoryOf, Models) {
  const std::string model = large_model();
  const std::string root = model + "/checkpoints: expected ";
  expect({"checkpoint", "export", model, dir_ / "out.safetensors"}, root);
  expect({"generate", "--from", model, "--prompt", "a", "--backend", "interpreter"}, root);
  expect({"eval", "--from", model, "--data", dir_ / "text.txt", "--backend", "interpreter"}, root);
  EXPECT_FALSE(path_exists(dir_ / "out.safetensors"));
}

TEST_F(LittleMemoryOf, Imports) {
  constexpr int32_t kDim = 4096, kVocab = 65536;
  const std::vector<int32_t> header = {kDim, kDim, 1, 2, 2, kVocab, 6};
  const int64_t num_floats = int64_t{kDim} * (kVocab + 2 + 7 * int64_t{kDim}) + kDim + 6 * kDim / 2;
  const std::string begin(reinterpret_cast<const char*>(header.data()),
                          header.size() * sizeof(int32_t));
  const std::string weights = sparse("model.bin", begin, 28 + 4 * num_floats);
  expect({"import", weights, "--out", dir_ / "imported", "--tokenizer", dir_ / "text.txt"},
         weights + ": expected 2.4 GiB of host memory for its weights, got ");
}

TEST_F(LittleMemoryOf, Tensors) {
  replace_file(dir_ / "layer.yaml", kLinearLayer);
  std::vector<std::string> command = {"eval-layer", dir_ / "layer.yaml", "--output", dir_ / "out",
                                      "--backend",  "interpreter",       "--seed",   "0",
                                      "--inputs"};
  command.push_back(large_tensor("in/x", 32));
  expect(command, "tensors: expected 32.0 GiB of host memory for tensor 'in/x', got ");
  save_safetensors(dir_ / "in.safetensors", {{"in/x", HostTensor({1, 2}, {1.0f, 2.0f})}});
  command.back() = dir_ / "in.safetensors";
  command.insert(command.end(), {"--compare", large_tensor("out", 2)});
  expect(command, "tensors: expected 2.0 GiB of host memory for tensor 'out', got ");
}

TEST_F(LittleMemoryOf, ValuesOfTheInterpreter) {
  const std::string step = " temporaries of the step ",
                    evaluation = "(temporaries of the evaluation ";
  expect(train(dir_ / "text.txt",
               {"--set", "input.seq_len=40000", "--set", "model.decoder.max_seq_len=40000", "--set",
                "model.decoder.layers.layer.attention.body.core.blocks.from=none"}),
         step);
  std::filesystem::remove_all(dir_ / "run");
  ASSERT_EQ(run_axle(train(dir_ / "text.txt", {"--set", "input.seq_len=16"})).code, 0);
  expect({"eval", "--from", dir_ / "run", "--data", dir_ / "text.txt", "--backend", "interpreter",
          "--set", "input.seq_len=40000", "--set", "model.decoder.max_seq_len=40000", "--set",
          "model.decoder.layers.layer.attention.body.core.blocks.from=none"},
         evaluation);
}

}  // namespace
}  // namespace axle
