// Saving and loading executables with a plugin that fails on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "io/file.h"
#include "pjrt/abi/executable.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/saved_executable.h"
#include "runtime/interpreter_runtime.h"
#include "testing/error_of.h"
#include "testing/loaded_fake.h"
#include "testing/mutants.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using testing::Fake;
using testing::fake_target;
using ::testing::HasSubstr;

const Mesh kPair{{{"data", 2}}};

Program copying() {
  return testing::copying_program({DType::kF32, {2, 3}}, kPair, "outputs=1 loc(\"a/layer\")");
}

const CompileOptions kOptions{.overrides = {{"b", "2"}, {"a", "1"}}};

class SavedExecutableFault : public ::testing::Test {
 protected:
  SavedExecutableFault() { save(maker_, copying(), kOptions); }

  void save(Fake& fake, const Program& program, const CompileOptions& options) {
    const auto compiler = make_compiler(fake_target(2), fake.load());
    save_executable(path_, *compiler->compile(program, options), program, *compiler, options);
  }
  std::unique_ptr<Executable> load(Fake& fake, const Program& program = copying(),
                                   const CompileOptions& options = kOptions) {
    PjrtRuntime runtime(fake.load(), 2);
    return load_executable(path_, runtime, program, options);
  }
  std::string load_error(const Program& program, const CompileOptions& options = kOptions) {
    return error_of<ConfigError>([&] { load(maker_, program, options); });
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "copying.axle";
  Fake maker_;
};

TEST_F(SavedExecutableFault, ASavedExecutableRunsWithoutCompiling) {
  Fake other;  // stands for the same plugin file in another process
  other->fail_slot = pjrt::ClientCompile::kSlot;
  PjrtRuntime runtime(other.load(), 2);
  const auto program = copying();
  const auto executable = load_executable(path_, runtime, program, kOptions);
  const HostTensor value({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const auto x = runtime.make_array(value, program.inputs[0].sharding, kPair);
  EXPECT_EQ(executable->execute(std::span(&x, 1))[0]->to_host(), value);
}

TEST_F(SavedExecutableFault, HeaderDescribesTheExecutable) {
  const auto header = read_saved_header(path_);
  EXPECT_EQ(header.plugin.platform, "fake");
  EXPECT_EQ(header.plugin.platform_version, "fake 1");
  EXPECT_EQ(header.plugin.api_version, "0.114");
  EXPECT_EQ(header.plugin.attributes.at("maker"), "tests");
  EXPECT_EQ(header.plugin.sha256.size(), 64u);
  EXPECT_EQ(header.processor, "");
  EXPECT_EQ(header.target, to_text(fake_target(2)));
  EXPECT_EQ(header.device_kind, "fake chip");
  EXPECT_EQ(header.mesh, "data=2");
  EXPECT_EQ(header.device_ids, (std::vector<int64_t>{10, 11}));
  EXPECT_EQ(header.program, "copying");
  EXPECT_EQ(header.options, (Settings{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(header.inputs, std::vector<std::string>{"x f32[2, 3] [data, None]"});
}

TEST_F(SavedExecutableFault, LocationsAndTheOrderOfOptionsDoNotCount) {
  Program moved = copying();
  moved.text = "outputs=1 loc(\"another/layer\")";
  EXPECT_TRUE(load(maker_, moved, {.overrides = {{"a", "1"}, {"b", "2"}}}));
}

TEST_F(SavedExecutableFault, FilesThatAreNotSavedExecutablesAreRefused) {
  Fake fake;
  path_ = dir_.path() / "missing";
  EXPECT_EQ(error_of<ConfigError>([&] { load(fake); }),
            path_.string() + ": expected a saved executable, got nothing there");
  replace_file(path_, "axle executable 1\nof a cache");
  EXPECT_EQ(error_of<ConfigError>([&] { load(fake); }),
            path_.string() + ": expected a saved executable, got another kind of file");
  path_ = dir_.path();
  EXPECT_EQ(error_of<ConfigError>([&] { load(fake); }),
            path_.string() + ": expected a saved executable, got a folder");
}

TEST_F(SavedExecutableFault, EveryCutAndEveryChangedByteIsSeen) {
  const std::string whole = read_file(path_);
  const auto refused = [&](const std::string& bytes) {
    replace_file(path_, bytes);
    const ExitCode code = thrown_by([&] { read_saved_header(path_); }).code;
    return code == ExitCode::kStorage || code == ExitCode::kUser;
  };
  for (size_t size = 0; size < whole.size(); size += 37)
    EXPECT_TRUE(refused(whole.substr(0, size)));
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string changed = whole;
    changed[at] ^= 4;
    EXPECT_TRUE(refused(changed)) << at;
  }
  for (const size_t cut : {size_t{1}, size_t{64}, whole.size() - 40}) {
    replace_file(path_, whole.substr(0, whole.size() - cut));
    EXPECT_EQ(error_of<StorageError>([&] { read_saved_header(path_); }),
              path_.string() +
                  ": expected a complete file, got one that was truncated or changed; `axle "
                  "compile --save` it again")
        << "never the file's own bytes";
  }
}

// The digest of the file is right, but the header is damaged.
TEST_F(SavedExecutableFault, EveryFieldOfTheHeaderWithEveryExtreme) {
  const std::string whole = read_file(path_);
  constexpr size_t kMagic = sizeof("axle saved executable 1");  // the null counts for the line end
  uint64_t size = 0;
  std::memcpy(&size, whole.data() + kMagic, 8);
  const auto header = read_json(std::string_view(whole).substr(kMagic + 8, size));
  const std::string code = whole.substr(kMagic + 8 + size, whole.size() - 64 - kMagic - 8 - size);
  const auto try_header = [&](std::string_view text, uint64_t length, const std::string& what) {
    std::string bytes = whole.substr(0, kMagic);
    bytes.append(reinterpret_cast<const char*>(&length), 8).append(text).append(code);
    FileWriter(path_).write(bytes + sha256_hex(bytes));
    return ends_well([&] { load(maker_); },
                     {ExitCode::kStorage, ExitCode::kUser, ExitCode::kDevice}, what);
  };
  const std::string good = header.dump();
  EXPECT_FALSE(try_header(good, good.size(), "as it was"));
  for (const auto& [what, text] : json_mutants(header, [](const auto& j) { return j.dump(); }))
    try_header(text, text.size(), what);
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, good.size() + code.size() + 1, ~uint64_t{0}})
    EXPECT_TRUE(try_header(good, length, "a length")) << length;
  EXPECT_TRUE(try_header(std::string(100'000, '['), 100'000, "deep nesting"));
}

TEST_F(SavedExecutableFault, ErrorNamesTheExpectedAndTheFoundPlugin) {
  Fake other("another version");
  const auto message = error_of<DeviceError>([&] { load(other); });
  EXPECT_THAT(message, HasSubstr("expected an executable of plugin 'fake', PJRT API 0.114, "
                                 "StableHLO 1.20.0, file "));
  const auto hash = read_saved_header(path_).plugin.sha256.substr(0, 12);
  EXPECT_THAT(message,
              HasSubstr("got one of plugin 'fake', PJRT API 0.114, StableHLO 1.20.0, file " + hash +
                        "; compile again"));
}

TEST_F(SavedExecutableFault, ExecutablesForOtherDevicesAreRefused) {
  Fake other;
  other->device_kind = "older chip";
  EXPECT_EQ(error_of<DeviceError>([&] { load(other); }),
            path_.string() +
                ": expected an executable for 'older chip', got one for 'fake chip' (" +
                to_text(fake_target(2)) + ")");
  // The device ids of several slices differ from those of one slice.
  const auto compiler = make_compiler(fake_target(1, 2), maker_.load());
  save_executable(path_, *compiler->compile(copying(), kOptions), copying(), *compiler, kOptions);
  EXPECT_THAT(load_error(copying()), HasSubstr("expected the devices of this machine"));
}

TEST_F(SavedExecutableFault, DifferencesOfTheProgramAreNamed) {
  const std::string where = path_.string();
  Program program = copying();
  program.name = "another";
  EXPECT_EQ(load_error(program), where + ": expected program 'another', got 'copying'");
  program = copying();
  program.mesh = {{{"model", 2}}};
  EXPECT_EQ(load_error(program),
            where + ": expected mesh 'model=2', got an executable for 'data=2'");
  program = copying();
  program.inputs[0].donated_to = 0;
  EXPECT_EQ(load_error(program),
            where +
                ": argument 0: expected 'x f32[2, 3] [data, None] donated to 0', got an "
                "executable with 'x f32[2, 3] [data, None]'");
  program = copying();
  program.outputs.push_back(program.outputs[0]);
  EXPECT_EQ(load_error(program),
            where + ": result 1: expected 'y f32[2, 3] [data, None]', got an executable with none");
  program = copying();
  program.text = "outputs=1 more";
  EXPECT_THAT(load_error(program), HasSubstr("expected program 'copying' as it is now, got one of "
                                             "another config; give compile the same flags, also "
                                             "--steps"));
  EXPECT_EQ(load_error(copying(), {.overrides = {{"a", "1"}, {"b", "3"}}}),
            where + ": compiler option 1: expected 'b=3', got an executable with 'b=2'");
}

TEST_F(SavedExecutableFault, InterpreterCannotLoadExecutables) {
  InterpreterRuntime interpreter(2);
  EXPECT_EQ(error_of<DeviceError>([&] { load_executable(path_, interpreter, copying()); }),
            path_.string() + ": expected the runtime of a PJRT plugin, got 'interpreter'");
}

TEST_F(SavedExecutableFault, FailedSaveLeavesTheOldFile) {
  const std::string before = read_file(path_);
  maker_->fail_slot = pjrt::ExecutableSerialize::kSlot;
  EXPECT_THAT(error_of<DeviceError>([&] { save(maker_, copying(), {}); }),
              HasSubstr("program 'copying', to bytes: INTERNAL"));
  EXPECT_EQ(read_file(path_), before);
  maker_->reset_failures();
  path_ = dir_.path() / "no folder" / "file";
  EXPECT_THROW(save(maker_, copying(), {}), StorageError);
  EXPECT_EQ(list_directory(dir_.path()).size(), 1u);
}

}  // namespace
}  // namespace axle
