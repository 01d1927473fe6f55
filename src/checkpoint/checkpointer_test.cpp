#include "checkpoint/checkpointer.h"

#include <gmock/gmock.h>

#include <functional>
#include <new>

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/checkpoint_test.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/state_files.h"
#include "io/file.h"
#include "runtime/interpreter_runtime.h"
#include "testing/resource_limits.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(Checkpoint, ComesBackBitForBit) {
  const TempDir dir;
  for (const int64_t chunk : {100, 4096, 16 << 20}) {
    for (const int64_t file : {1, 20000, 1 << 30}) {
      write_checkpoint(dir.path(), 7, example_state(7), example_metadata(7),
                       {.file_bytes = file, .chunk_bytes = chunk});
      const auto back = restore_tensors(dir.path());
      ASSERT_TRUE(back);
      EXPECT_EQ(back->step, 7);
      EXPECT_EQ(back->metadata, example_metadata(7));
      EXPECT_EQ(back->tensors, example_state(7)) << chunk << " " << file;
    }
  }
}

TEST(Checkpoint, EqualStatesGiveEqualFiles) {
  const TempDir a, b;
  write_checkpoint(a.path(), 1, example_state(1), {});
  write_checkpoint(b.path(), 1, example_state(1), {});
  for (const char* file : {"manifest.json", "data_00000.bin"}) {
    EXPECT_EQ(read_file(a.path() / "step_00000001" / file),
              read_file(b.path() / "step_00000001" / file));
  }
}

TEST(Checkpoint, EmptyStateRoundTrips) {
  const TempDir dir;
  write_checkpoint(dir.path(), 0, Tree<HostTensor>{}, {});
  const auto back = restore_tensors(dir.path());
  ASSERT_TRUE(back);
  EXPECT_THAT(back->tensors, IsEmpty());
}

TEST(Checkpoint, TensorsLieAligned) {
  const TempDir dir;
  write_checkpoint(dir.path(), 1, example_state(1), {});
  const StoredCheckpoint stored(dir.path(), 1);
  ASSERT_EQ(stored.manifest().tensors.size(), example_state(1).size());
  for (const auto& [path, tensor] : stored.manifest().tensors) {
    EXPECT_EQ(tensor.offset % kTensorAlignment, 0) << path;
  }
}

TEST(Checkpoint, MissingCheckpointIsNotAnError) {
  const TempDir dir;
  EXPECT_FALSE(restore_tensors(dir.path()));
  EXPECT_FALSE(restore_tensors(dir / "missing"));
}

TEST(Checkpoint, SavingAStepAgainReplacesIt) {
  const TempDir dir;
  write_checkpoint(dir.path(), 1, example_state(1), {});
  write_checkpoint(dir.path(), 1, example_state(2), {});
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(2));
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "step_00000001"));
}

TEST(Manifest, AVersionOfTheFutureIsRefusedAndNotSkipped) {
  const TempDir dir;
  write_checkpoint(dir.path(), 1, example_state(1), {});
  write_checkpoint(dir.path(), 2, example_state(2), {});
  const std::string path = dir / "step_00000002/manifest.json";
  // The manifest is as such a version would write it: with a matching hash.
  Manifest manifest = parse_manifest(read_file(path), path);
  std::string text = to_text(manifest);
  const auto rehash = [&] {
    text.replace(14, 64, std::string(64, '0'));
    text.replace(14, 64, sha256_hex(text));
  };
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
  rehash();
  replace_file(path, text);
  EXPECT_THAT([&] { restore_tensors(dir.path()); },
              ThrowsMessage<UnknownVersionError>(
                  AllOf(HasSubstr(path), HasSubstr("expected checkpoint version 1, got 2"))));
}

TEST(Manifest, TensorsThatShareBytesAreRefused) {
  const Manifest good{.step = 1,
                      .metadata = {},
                      .chunk_bytes = 100,
                      .files = {{.name = "d", .bytes = 40, .crc32c = {1}},
                                {.name = "e", .bytes = 40, .crc32c = {1}}},
                      .tensors = {{"a", {.type = {DType::kF32, {3}}, .file = 0, .offset = 0}},
                                  {"b", {.type = {DType::kF32, {4}}, .file = 0, .offset = 12}},
                                  {"c", {.type = {DType::kF32, {4}}, .file = 1, .offset = 12}},
                                  {"none", {.type = {DType::kF32, {0}}, .file = 0, .offset = 4}}}};
  EXPECT_NO_THROW(parse_manifest(to_text(good), "m"));
  const auto refused = [&](std::string_view path, size_t file, int64_t offset, const char* why) {
    Manifest bad = good;
    bad.tensors.find(path)->second.file = file;
    bad.tensors.find(path)->second.offset = offset;
    EXPECT_THAT([&] { parse_manifest(to_text(bad), "m"); },
                ThrowsMessage<StorageError>(HasSubstr(why)));
  };
  const char* const behind_a =
      "m: malformed: tensors.b: expected a tensor that begins after the end of a at 12 of d";
  refused("b", 0, 0, behind_a);
  refused("b", 0, 11, behind_a);
  refused("a", 0, 24, "tensors.a: expected a tensor that begins after the end of b at 28 of d");
  refused("b", 1, 12, "expected a tensor that begins after the end of b at 28 of e");
}

TEST(Manifest, ImpossibleTablesAreRefused) {
  const auto refused = [](const Manifest& manifest, const char* why) {
    EXPECT_THAT([&] { parse_manifest(to_text(manifest), "m"); },
                ThrowsMessage<StorageError>(AllOf(HasSubstr("m: malformed: "), HasSubstr(why))));
  };
  const Manifest good{.step = 1,
                      .metadata = {},
                      .chunk_bytes = 10,
                      .files = {{.name = "d", .bytes = 25, .crc32c = {1, 2, 3}}},
                      .tensors = {{"w", {.type = {DType::kF32, {3}}, .file = 0, .offset = 13}}}};
  EXPECT_NO_THROW(parse_manifest(to_text(good), "m"));
  Manifest bad = good;
  bad.tensors["w"].offset = 14;
  refused(bad, "tensors['w']: expected a tensor within the 25 bytes of d");
  bad = good;
  bad.tensors["w"].offset = -1;
  refused(bad, "tensors['w'].offset: expected an integer of 0 to 9223372036854775807, got -1");
  bad = good;
  bad.tensors["w"].type.dims = {int64_t{1} << 40, int64_t{1} << 40};
  refused(bad, "tensors['w']: expected a tensor within the 25 bytes of d");
  bad = good;
  bad.tensors["w"].type.dims = {-3};
  refused(bad, "tensors['w'].shape[0]: expected an integer of 0 to 9223372036854775807, got -3");
  bad = good;
  bad.tensors["w"].file = 1;
  refused(bad, "tensors['w'].file: expected an integer of 0 to 0, got 1");
  bad = good;
  bad.files[0].name = "../d";
  refused(bad, "files[0].name: expected the name of a file in this folder, got \"../d\"");
  bad = good;
  bad.files[0].name = "..";
  refused(bad, "files[0].name: expected the name of a file in this folder");
  bad = good;
  bad.files[0].bytes = 31;
  refused(bad, "files[0].crc32c: expected 4 checksums for 31 bytes, got a list of 3");
  bad = good;
  bad.chunk_bytes = 0;
  refused(bad, "chunk_bytes: expected an integer of 1 to 1073741824, got 0");
  bad = good;
  bad.step = -1;
  refused(bad, "step: expected an integer of 0 to ");
}

TEST(CheckpointInfo, EntriesAreParsedStrictly) {
  const CheckpointInfo info{.step = 1,
                            .metadata = {{"n", "12"},
                                         {"x", "1.5"},
                                         {"huge", "9223372036854775808"},
                                         {"nan", "nan"},
                                         {"word", "12 "}},
                            .manifest = "m.json"};
  EXPECT_EQ(info.entry("word"), "12 ");
  EXPECT_EQ(info.integer_entry("n", 0, 12), 12);
  EXPECT_EQ(info.number_entry("x", 0, 2), 1.5);
  const auto refused = [&](auto&& read, const std::string& what) {
    EXPECT_THAT([&] { read(); },
                ThrowsMessage<StorageError>(HasSubstr("m.json: metadata." + what)));
  };
  refused([&] { info.entry("none"); }, "none: expected an entry of this name, got none");
  refused([&] { info.integer_entry("n", 0, 11); }, "n: expected a number from 0 to 11, got '12'");
  for (const std::string name : {"x", "huge", "nan", "word"})
    refused([&] { info.integer_entry(name, 0, INT64_MAX); }, name + ": expected a number from ");
  for (const std::string name : {"nan", "word"})
    refused([&] { info.number_entry(name, 0, 1e300); }, name + ": expected a number from ");
}

TEST(Checkpointer, AStateThatIsNotFiniteIsNotSaved) {
  const TempDir dir;
  std::string said;
  Checkpointer checkpointer({.keep_last_n = 1, .mode = SaveMode::kBlocking}, dir.path(),
                            [&](const std::string& line) { said = line; });
  Tree<HostTensor> state = {{"a", HostTensor::ones({3})}, {"b", HostTensor::ones({2})}};
  checkpointer.save(1, state);
  state.at("b").values<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  checkpointer.save(2, state);
  EXPECT_EQ(checkpointer.last_saved(), 1);
  EXPECT_EQ(checkpointer.num_failures(), 1);
  EXPECT_THAT(said, HasSubstr("step 2 was not saved: expected finite numbers, got NaN or infinity "
                              "in b"));
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(1));
}

class CheckpointerModes : public ::testing::TestWithParam<SaveMode> {};
INSTANTIATE_TEST_SUITE_P(Both, CheckpointerModes,
                         ::testing::Values(SaveMode::kBackground, SaveMode::kBlocking),
                         [](const auto& mode) { return to_text(mode.param); });

TEST_P(CheckpointerModes, KeepsTheLastStepsAndMultiplesOfKeepEverySteps) {
  const TempDir dir;
  Checkpointer checkpointer(
      {.every_steps = 5, .keep_last_n = 2, .keep_every_steps = 20, .mode = GetParam()}, dir.path());
  for (int64_t step = 1; step <= 50; ++step) {
    if (checkpointer.is_due(step))
      checkpointer.save(step, example_state(step), example_metadata(step));
  }
  EXPECT_EQ(checkpointer.last_saved(), 50);
  EXPECT_EQ(checkpointer.num_failures(), 0);
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(20, 40, 45, 50));
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(50));
}

TEST_P(CheckpointerModes, TheDestructorWaits) {
  const TempDir dir;
  { Checkpointer({.mode = GetParam()}, dir / "a/b").save(3, example_state(3)); }
  EXPECT_EQ(restore_tensors(dir / "a/b")->step, 3);
}

TEST(Checkpointer, TheStepSavedLastIsNotSavedAgain) {
  const TempDir dir;
  Checkpointer checkpointer({}, dir.path());
  checkpointer.save(1, example_state(1));
  checkpointer.save(1, example_state(2));
  EXPECT_EQ(checkpointer.last_saved(), 1);
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(1));
}

TEST_P(CheckpointerModes, RestoredStepIsSavedAgainOnlyIfItsCheckpointIsMissing) {
  const TempDir dir;
  write_checkpoint(dir.path(), 2, example_state(2), {});
  Lines said;
  Checkpointer checkpointer({.mode = GetParam()}, dir.path(), std::ref(said));
  checkpointer.mark_restored(2);
  checkpointer.save(2, example_state(20));
  EXPECT_EQ(checkpointer.last_saved(), 2);
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(2));
  remove_tree(checkpoint_folder(dir.path(), 2));
  {
    const FileSizeLimit limit(10000);
    checkpointer.save(2, example_state(20));
    EXPECT_EQ(checkpointer.last_saved(), std::nullopt) << "it is nowhere";
  }
  checkpointer.save(2, example_state(20));
  EXPECT_EQ(checkpointer.last_saved(), 2);
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(20));
  EXPECT_THAT(said.lines, ElementsAre(HasSubstr("the checkpoint of step 2 was not saved: ")));
}

TEST(Checkpointer, CheckpointsOfLaterStepsAreNeitherCountedNorRemoved) {
  const TempDir dir;
  write_checkpoint(dir.path(), 100, example_state(100), {});
  Checkpointer checkpointer({.keep_last_n = 1, .mode = SaveMode::kBlocking}, dir.path());
  checkpointer.save(40, example_state(40));
  checkpointer.save(50, example_state(50));
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(50, 100));
}

TEST(Checkpointer, RemovesWhatEarlierProcessesLeft) {
  const TempDir dir;
  make_directories(dir / "step_00000005.tmp-123");
  replace_file(dir / "step_00000005.tmp-123/data_00000.bin", "part");
  make_directories(dir / "step_notes.tmp-1");
  Checkpointer checkpointer({}, dir.path());
  EXPECT_THAT(list_directory(dir.path()), ElementsAre(dir.path() / "step_notes.tmp-1"));
}

TEST(Checkpointer, RestoresCheckpointsThatAnEarlierProcessWasReplacing) {
  const TempDir dir;
  for (const int64_t step : {1, 2}) {
    write_checkpoint(dir.path(), step, example_state(step), {});
    std::filesystem::rename(checkpoint_folder(dir.path(), step), replaced_folder(dir.path(), step));
  }
  write_checkpoint(dir.path(), 2, example_state(20), {});  // step 2: the new one was moved there
  make_directories(temporary_folder(dir.path(), 1));       // step 1: it did not
  const Checkpointer checkpointer({}, dir.path());
  EXPECT_THAT(list_directory(dir.path()),
              ElementsAre(checkpoint_folder(dir.path(), 1), checkpoint_folder(dir.path(), 2)));
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(20));
  remove_tree(checkpoint_folder(dir.path(), 2));
  EXPECT_EQ(restore_tensors(dir.path())->tensors, example_state(1));
}

TEST(Checkpointer, RestoresTheArraysThatItSaved) {
  const TempDir dir;
  const auto runtime = std::make_unique<InterpreterRuntime>(1);
  std::vector<ProgramValue> values;
  Arrays arrays;
  for (const auto& [path, tensor] : example_state(4)) {
    values.push_back({path, tensor.type()});
    arrays.push_back(runtime->make_array(tensor, {}, {}));
  }
  Checkpointer checkpointer({}, dir.path());
  checkpointer.save(4, values, arrays, example_metadata(4));
  checkpointer.wait();
  const auto back = restore_arrays(dir.path(), *runtime, {}, values);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->step, 4);
  EXPECT_EQ(back->metadata, example_metadata(4));
  ASSERT_EQ(back->arrays.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(back->arrays[i]->to_host(), example_state(4).at(values[i].name));
  }
}

// An array that can't be copied to the host while `failure` is set, or whose computation failed.
class FailingArray final : public Array {
 public:
  FailingArray(std::function<void()> failure, std::function<void()> computation)
      : Array({DType::kF32, {2}}, {}),
        failure_(std::move(failure)),
        computation_(std::move(computation)) {}
  HostTensor to_host() const override {
    if (failure_) failure_();
    return HostTensor::ones({2});
  }
  void wait() const override {
    if (computation_) computation_();
  }

 private:
  std::function<void()> failure_, computation_;
};

TEST_P(CheckpointerModes, SaveFailsButTheRunContinuesWithoutMemoryForACopy) {
  const TempDir dir;
  Lines said;
  Checkpointer checkpointer({.mode = GetParam()}, dir.path(), std::ref(said));
  const std::vector<ProgramValue> values = {{"a", {DType::kF32, {2}}}};
  const auto save = [&](int64_t step, std::function<void()> failure,
                        std::function<void()> computation = {}) {
    checkpointer.save(step, values, Arrays{std::make_shared<FailingArray>(failure, computation)});
  };
  save(1, {});
  save(2, [] { throw Error("a tensor: no room", ExitCode::kDoesNotFit); });
  save(3, [] { throw std::bad_alloc(); });
  EXPECT_EQ(checkpointer.num_failures(), 2);
  EXPECT_EQ(checkpointer.last_saved(), 1);
  EXPECT_THAT(said.lines,
              ElementsAre(HasSubstr("step 2 was not saved: a tensor: no room; training goes on"),
                          HasSubstr("step 3 was not saved: the host has no memory for a copy")));
  const auto no_memory = [] { throw DeviceError("step: no room", ExitCode::kDoesNotFit); };
  EXPECT_THROW(save(4, {}, no_memory), DeviceError) << "a step that failed is no failed save";
  EXPECT_THROW(save(4, [] { throw DeviceError("lost"); }), DeviceError);
  EXPECT_EQ(checkpointer.num_failures(), 2);
  save(5, {});
  EXPECT_EQ(checkpointer.last_saved(), 5);
}

// An array that calls a function when it is copied to the host.
class WatchedArray final : public Array {
 public:
  WatchedArray(int64_t size, std::function<void()> on_copy)
      : Array({DType::kF32, {size}}, {}), on_copy_(std::move(on_copy)) {}
  HostTensor to_host() const override {
    on_copy_();
    return HostTensor::ones(type().dims);
  }
  void wait() const override {}

 private:
  std::function<void()> on_copy_;
};

TEST(Checkpointer, ABlockingSaveHoldsOneTensorAtATime) {
  const TempDir dir;
  constexpr int64_t kSize = 1 << 18;
  const auto written = [&] {
    uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path())) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  };
  std::vector<uintmax_t> before_copy;
  std::vector<ProgramValue> values;
  Arrays arrays;
  for (const char* path : {"c", "a", "b"}) {
    values.push_back({path, {DType::kF32, {kSize}}});
    arrays.push_back(
        std::make_shared<WatchedArray>(kSize, [&] { before_copy.push_back(written()); }));
  }
  Checkpointer checkpointer({.mode = SaveMode::kBackground}, dir.path());
  checkpointer.save(1, values, arrays, {}, SaveMode::kBlocking);
  EXPECT_THAT(before_copy, ElementsAre(0, kSize * 4, kSize * 8));
  before_copy.clear();
  checkpointer.save(2, values, arrays, {});
  ASSERT_EQ(before_copy.size(), 3u);
  EXPECT_EQ(before_copy[0], before_copy[2]) << "copied before anything is written";
  EXPECT_EQ(checkpointer.last_saved(), 2);
}

TEST(Restore, StateOfAnotherConfigIsAUserError) {
  const TempDir dir;
  const auto runtime = std::make_unique<InterpreterRuntime>(1);
  write_checkpoint(dir.path(), 1, example_state(1), {});
  write_checkpoint(dir.path(), 2, example_state(2), {});
  std::vector<ProgramValue> values;
  for (const auto& [path, tensor] : example_state(2)) values.push_back({path, tensor.type()});
  values[0].type = {DType::kI64, {}};
  values[1].name = "learner/v/weight";
  EXPECT_THAT([&] { restore_arrays(dir.path(), *runtime, {}, values); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("step_00000002: saved by a run with another config"),
                        HasSubstr("learner/count: expected i64[], got i32[]"),
                        HasSubstr("learner/v/weight: expected f32"),
                        HasSubstr("learner/m/weight: expected none, got f32"))));
}

}  // namespace
}  // namespace axle
