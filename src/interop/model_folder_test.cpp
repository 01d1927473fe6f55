#include "interop/model_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "checkpoint/state_files.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "interop/save_model.h"
#include "interop/tiny_model_test.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ModelFolder : public ::testing::Test {
 protected:
  Tree<HostTensor> below_model() const { return subtree(tiny_.parameters, "model"); }
  void save(const std::string& dir) const {
    save_model(dir, {.model = tiny_.config,
                     .tokenizer = ByteTokenizer::Config{.vocab_size = 258},
                     .parameters = below_model(),
                     .context_len = 99});
  }
  TempDir dir_;
  TinyModel tiny_ = chain_model({{4, 5}}, 260);
};

TEST_F(ModelFolder, LoadsWhatItSaved) {
  save(dir_ / "a");
  const LoadedModel loaded = load_model(dir_ / "a");
  EXPECT_EQ(loaded.parameters, tiny_.parameters);
  EXPECT_EQ(loaded.tokenizer->vocab_size(), 258);
  EXPECT_EQ(loaded.context_len, 99);
  EXPECT_EQ(loaded.step, 0);
}

TEST_F(ModelFolder, ContextLengthIsLimitedByTheDecoder) {
  tiny_ = chain_model({{4, 5}}, 260, 20);
  save(dir_ / "a");
  EXPECT_EQ(load_model(dir_ / "a").context_len, 20);
}

TEST_F(ModelFolder, ExistingFilesAreNotOverwritten) {
  make_directories(dir_ / "empty");
  save(dir_ / "empty");
  EXPECT_THAT(error_of([&] { save(dir_ / "empty"); }),
              HasSubstr("empty: expected a new or empty folder"));
  replace_file(dir_ / "file", "x");
  EXPECT_THAT(error_of([&] { save(dir_ / "file"); }),
              HasSubstr("file: expected a new or empty folder, got a file; name another"));
}

TEST_F(ModelFolder, FailedSaveLeavesNoFiles) {
  make_directories(dir_ / "empty");
  const auto fail = [&](const std::filesystem::path& dir) {
    return error_of<StorageError>([&] {
      // The second file can't be written. The first one already exists beside it.
      save_model(dir, {.model = tiny_.config,
                       .tokenizer = ByteTokenizer::Config{.vocab_size = 258},
                       .parameters = below_model(),
                       .context_len = 99,
                       .files = {{"a", "x"}, {"no/such/folder", "x"}}});
    });
  };
  EXPECT_THAT(fail(dir_.path() / "new" / "below"), HasSubstr("no/such/folder: cannot"));
  EXPECT_FALSE(path_exists(dir_ / "new"));
  EXPECT_THAT(fail(dir_ / "empty"), HasSubstr("no/such/folder: cannot"));
  EXPECT_TRUE(list_directory(dir_ / "empty").empty());
}

TEST_F(ModelFolder, ReplacesFilesOfAKilledProcess) {
  const std::filesystem::path dir = dir_.path() / "a", left = dir / "import.tmp";
  make_directories(left / "checkpoints/step_00000000.tmp-123");
  replace_file(left / "tokenizer.bin", "x");
  replace_file(left / "import.lock", "123\n");
  save(dir.string());
  EXPECT_THAT(list_directory(dir),
              ::testing::ElementsAre(dir / "checkpoints", dir / "config.yaml"));
  EXPECT_EQ(load_model(dir).parameters, tiny_.parameters);
  // Files of others in the folder are not removed.
  const std::filesystem::path other = dir_.path() / "b";
  make_directories(other / "import.tmp");
  replace_file(other / "notes.txt", "x");
  EXPECT_THAT(error_of([&] { save(other.string()); }), HasSubstr("expected a new or empty folder"));
}

TEST_F(ModelFolder, FolderInUseByAnotherProcessIsRefused) {
  const std::filesystem::path unfinished = dir_.path() / "a/import.tmp";
  make_directories(unfinished);
  replace_file(unfinished / "tokenizer.bin", "x");
  const FileLock other(unfinished / "import.lock");
  EXPECT_THAT(error_of<StorageError>([&] { save(dir_ / "a"); }),
              HasSubstr("one in use by process"));
  EXPECT_TRUE(path_exists(unfinished / "tokenizer.bin"));
}

// A process that is killed while it moves the files leaves some of them there.
TEST_F(ModelFolder, HalfWrittenFolderIsReplaced) {
  save(dir_ / "whole");
  const std::filesystem::path half = dir_.path() / "half";
  make_directories(half / "import.tmp");
  replace_file(half / "import.tmp/names.json", R"(["checkpoints", "tokenizer.bin"])");
  replace_file(half / "tokenizer.bin", "x");
  std::filesystem::copy(std::filesystem::path(dir_ / "whole") / "checkpoints", half / "checkpoints",
                        std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(half / "checkpoints/step_00000000/data_00000.bin", 100);
  save(half);
  EXPECT_EQ(load_model(half).parameters, tiny_.parameters);
  EXPECT_THAT(list_directory(half),
              ::testing::ElementsAre(half / "checkpoints", half / "config.yaml"));
  // What is not ours stays.
  const std::filesystem::path others = dir_.path() / "others";
  make_directories(others / "import.tmp");
  replace_file(others / "thesis.txt", "x");
  EXPECT_THAT(error_of([&] { save(others); }), HasSubstr("expected a new or empty folder"));
  EXPECT_TRUE(path_exists(others / "thesis.txt"));
}

TEST_F(ModelFolder, LoadsTheNewestParametersOrTheirAverage) {
  save(dir_ / "run");
  Tree<HostTensor> state = tiny_.parameters;
  for (const auto& [path, value] : tiny_.parameters)
    state.emplace("learner/ema/" + path, HostTensor::full(value.shape(), 0.5));
  state.emplace("prng_key", HostTensor({2}, {1u, 2u}));
  write_checkpoint(std::filesystem::path(dir_ / "run") / "checkpoints", 40, state, {});
  const LoadedModel trained = load_model(dir_ / "run");
  EXPECT_EQ(trained.parameters, tiny_.parameters);
  EXPECT_EQ(trained.step, 40);
  const LoadedModel average = load_model(dir_ / "run", Weights::kAverage);
  ASSERT_EQ(average.parameters.size(), tiny_.parameters.size());
  for (const auto& [path, value] : average.parameters)
    EXPECT_EQ(value, HostTensor::full(value.shape(), 0.5)) << path;
}

TEST_F(ModelFolder, DamagedCheckpointIsReportedAndTheOneBeforeIsLoaded) {
  save(dir_ / "run");
  const auto checkpoints = std::filesystem::path(dir_ / "run") / "checkpoints";
  write_checkpoint(checkpoints, 7, tiny_.parameters, {});
  std::filesystem::resize_file(checkpoints / "step_00000007" / "data_00000.bin", 100);
  std::vector<std::string> lines;
  const LoadedModel loaded = load_model(dir_ / "run", Weights::kTrained,
                                        [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(loaded.step, 0);
  EXPECT_EQ(loaded.parameters, tiny_.parameters);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], HasSubstr("step_00000007"));
}

// Returns the text of a config.yaml with this compute_dtype.
std::string with_dtype(std::string config, std::string_view dtype) {
  const size_t begin = config.find("compute_dtype:"), end = config.find('\n', begin);
  return config.replace(begin, end - begin, fmt::format("compute_dtype: {}", dtype));
}

// config.yaml may be that of steps which were never saved, or were damaged.
TEST_F(ModelFolder, ConfigOfTheLoadedCheckpointIsUsed) {
  save(dir_ / "run");
  const std::filesystem::path run = dir_ / "run", file = run / "config.yaml";
  const std::string config = read_file(file);
  const auto with = [&](int dtype_bits) {
    return with_dtype(config, dtype_bits == 16 ? "bf16" : "f64");
  };
  write_checkpoint(run / "checkpoints", 5, tiny_.parameters, {{"config", with(16)}});
  write_checkpoint(run / "checkpoints", 6, tiny_.parameters, {{"config", with(64)}});
  std::vector<std::string> lines;
  const auto load = [&] {
    lines.clear();
    return load_model(run, Weights::kTrained,
                      [&](const std::string& line) { lines.push_back(line); });
  };
  replace_file(file, "# a note of one's own\n" + with(64));
  EXPECT_EQ(load().compute_dtype, DType::kF64);
  EXPECT_TRUE(lines.empty()) << lines[0];
  replace_file(file, "max_steps: 9\n" + with(64));
  EXPECT_EQ(load().compute_dtype, DType::kF64);
  EXPECT_TRUE(lines.empty()) << "the model does not see it: " << lines[0];
  for (const std::string& other : {with(16), std::string("compute_dtype: bf16\n")}) {
    replace_file(file, other);
    EXPECT_EQ(load().compute_dtype, DType::kF64) << other;
    ASSERT_EQ(lines.size(), 1u) << other;
    EXPECT_EQ(lines[0],
              "WARNING: " + file.string() +
                  " differs from the config of the checkpoint of step 6; the checkpoint's "
                  "config is used");
  }
  replace_file(file, "a: [");
  EXPECT_EQ(load().compute_dtype, DType::kF64);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(StartsWith("WARNING: " + file.string() + ":"),
                              HasSubstr(": expected YAML, got a syntax error: "),
                              EndsWith("; the checkpoint's config is used")));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(load().compute_dtype, DType::kF64);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "WARNING: " + file.string() +
                          ": expected a regular file, got a folder; the checkpoint's config is "
                          "used");
  std::filesystem::remove(file);
  EXPECT_EQ(load().compute_dtype, DType::kF64);
  EXPECT_TRUE(lines.empty()) << lines[0];
  std::filesystem::resize_file(run / "checkpoints/step_00000006/data_00000.bin", 100);
  EXPECT_EQ(load().compute_dtype, DType::kBF16);
  EXPECT_EQ(load().step, 5);
}

TEST_F(ModelFolder, NonFiniteParametersAreNamed) {
  save(dir_ / "run");
  const std::string bad = "model/decoder/lm_head/weight";
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Tree<HostTensor> parameters = tiny_.parameters;
    parameters.at(bad).values<float>()[7] = value;
    write_checkpoint(std::filesystem::path(dir_ / "run") / "checkpoints", 7, parameters, {});
    EXPECT_THAT(
        error_of<Error>([&] { load_model(dir_ / "run"); }),
        HasSubstr("expected finite numbers in the checkpoint of step 7, got NaN or infinity "
                  "in " +
                  bad));
  }
}

TEST_F(ModelFolder, LoadsStateOfLayersOnRequest) {
  save(dir_ / "run");
  Tree<HostTensor> state = tiny_.parameters;
  state.emplace("state/model/norm/mean", HostTensor::ones({3}));
  state.emplace("learner/count", HostTensor::scalar(int32_t{7}));
  write_checkpoint(std::filesystem::path(dir_ / "run") / "checkpoints", 7, state, {});
  state.erase("learner/count");
  Tree<ParamSpec> specs = tiny_.model->param_specs();
  const SpecsOfConfig specs_of = [&](const ModelConfig&) { return specs; };
  EXPECT_EQ(load_parameters(dir_ / "run", specs_of).by_path, tiny_.parameters);
  specs.emplace("state/model/norm/mean", ParamSpec{.shape = {3}});
  EXPECT_EQ(load_parameters(dir_ / "run", specs_of).by_path, state);
  EXPECT_THAT(error_of([&] { load_model(dir_ / "run", Weights::kAverage); }),
              HasSubstr("expected averaged parameters"));
}

TEST_F(ModelFolder, ComputeDtypeOfTheRunIsKept) {
  save(dir_ / "run");
  EXPECT_FALSE(load_model(dir_ / "run").compute_dtype);
  const auto config = std::filesystem::path(dir_ / "run") / "config.yaml";
  const std::string text = read_file(config);
  replace_file(config, with_dtype(text, "none"));
  EXPECT_FALSE(load_model(dir_ / "run").compute_dtype);
  replace_file(config, with_dtype(text, "bf16"));
  EXPECT_EQ(load_model(dir_ / "run").compute_dtype, DType::kBF16);
  replace_file(config, with_dtype(text, "bf15"));
  EXPECT_THAT(error_of([&] { load_model(dir_ / "run"); }),
              HasSubstr("config.yaml: compute_dtype: expected "));
}

TEST_F(ModelFolder, WrongFoldersAreNamed) {
  EXPECT_THAT(
      error_of([&] { load_model(dir_ / "none"); }),
      HasSubstr("none: expected the folder of a run or of an import, a folder of Hugging Face "
                "or a GGUF file, got nothing there"));
  EXPECT_THAT(error_of([&] { load_model("org/name"); }),
              HasSubstr("got nothing there; of a model of a hub, download the files and name their "
                        "folder"));
  const std::string folder = reference_file("hugging_face/llama");
  EXPECT_THAT(error_of([&] { load_model(folder + "/config.json"); }),
              HasSubstr("expected the folder of a model, got a file in it; name " + folder));
  EXPECT_THAT(error_of([&] { load_model(dir_.path()); }), HasSubstr("got one without config.yaml"));
  replace_file(dir_ / "m.gguf", "GGUF");
  EXPECT_THAT(error_of([&] { load_model(dir_.path()); }),
              HasSubstr("got a folder around one; name " + (dir_ / "m.gguf")));
  save(dir_ / "run");
  EXPECT_THAT(error_of([&] { load_model(dir_ / "run", Weights::kAverage); }),
              HasSubstr("expected averaged parameters in the checkpoint of step 0, got none"));
  remove_tree(std::filesystem::path(dir_ / "run") / "checkpoints");
  EXPECT_THAT(error_of([&] { load_model(dir_ / "run"); }),
              HasSubstr("checkpoints: expected a checkpoint, got none"));
  save(dir_ / "without");
  replace_file(std::filesystem::path(dir_ / "without") / "config.yaml", "model: none\n");
  EXPECT_THAT(error_of([&] { load_model(dir_ / "without"); }),
              HasSubstr("config.yaml: model: expected a class with its fields, got none"));
  tiny_ = chain_model({{4, 5}}, 257);
  save(dir_ / "small");
  EXPECT_THAT(
      error_of([&] { load_model(dir_ / "small"); }),
      HasSubstr("input.tokenizer: expected a vocabulary of at most the model's 257, got 258"));
}

TEST_F(ModelFolder, RunWithoutATokenizerIsRefused) {
  save(dir_ / "run");
  const auto config = std::filesystem::path(dir_ / "run") / "config.yaml";
  std::string text = read_file(config);
  text.resize(text.find("input:"));
  replace_file(config, text + "input:\n  class: SyntheticInput\n  seq_len: 8\n");
  EXPECT_THAT(error_of([&] { load_model(dir_ / "run"); }),
              HasSubstr("input.tokenizer: expected a class with its fields, got none; an import "
                        "without a tokenizer (--tokenizer) and a run on synthetic data have none"));
}

}  // namespace
}  // namespace axle
