// One device of the real CPU plugin: programs, transfers, donation, errors, stored executables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "pjrt/abi/calls.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin_status.h"
#include "runtime/executable_cache.h"
#include "testing/error_of.h"
#include "testing/plugin_fixture.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

using PjrtRuntimeTest = PluginTest;

const Type kPair{DType::kF32, {2}};

/// Returns a program y = x + x. If `donated`, y reuses the buffer of x.
Program doubling(bool donated = false) {
  return {.name = "doubling",
          .text = std::string("module @m { func.func public @main(%x: tensor<2xf32>") +
                  (donated ? " {tf.aliasing_output = 0 : i32}" : "") +
                  ") -> tensor<2xf32> {\n %0 = \"stablehlo.add\"(%x, %x) : (tensor<2xf32>, "
                  "tensor<2xf32>) -> "
                  "tensor<2xf32>\n return %0 : tensor<2xf32> } }",
          .inputs = {{.name = "x", .type = kPair, .donated_to = donated ? 0 : -1}},
          .outputs = {{.name = "y", .type = kPair}}};
}

/// Returns a program that returns its argument.
Program identity(const Type& type) {
  const std::string t = mlir_type(type);
  return {.name = "identity",
          .text = "module @m { func.func public @main(%x: " + t + ") -> " + t +
                  " { return %x : " + t + " } }",
          .inputs = {{.name = "x", .type = type}},
          .outputs = {{.name = "y", .type = type}}};
}

TEST_F(PjrtRuntimeTest, AProgramRuns) {
  auto program = runtime_->compile(doubling());
  const Arrays arguments = {put(HostTensor({2}, {1.5f, -2.f}))};
  const auto results = program->execute(arguments);
  results[0]->wait();
  EXPECT_EQ(results[0]->to_host(), HostTensor({2}, {3.f, -4.f}));
  EXPECT_EQ(results[0]->type(), kPair);
  EXPECT_EQ(arguments[0]->to_host(), HostTensor({2}, {1.5f, -2.f}));  // not donated
}

TEST_F(PjrtRuntimeTest, DescribesItsTopology) {
  const auto& topology = runtime_->topology();
  EXPECT_EQ(topology.platform, "cpu");
  EXPECT_FALSE(topology.platform_version.empty());
  ASSERT_EQ(topology.devices.size(), 1u);
  EXPECT_EQ(topology.devices[0].kind, "cpu");
}

TEST_F(PjrtRuntimeTest, ResultsFeedTheNextRunWithoutWaiting) {
  auto program = runtime_->compile(doubling(true));
  Arrays state = {put(HostTensor({2}, {1.f, 3.f}))};
  for (int i = 0; i < 10; ++i) state = program->execute(state);
  EXPECT_EQ(state[0]->to_host(), HostTensor({2}, {1024.f, 3072.f}));
}

TEST_F(PjrtRuntimeTest, EveryDTypeComesBackUnchanged) {
  for (DType dtype : {DType::kPred, DType::kI32, DType::kI64, DType::kU32, DType::kU64,
                      DType::kBF16, DType::kF32, DType::kF64}) {
    HostTensor value({2, 3}, {0., 1., 2., 3., 4., 5.});
    value = value.astype(dtype);
    const auto array = put(value);
    EXPECT_EQ(array->to_host(), value) << name_of(dtype);
    auto program = runtime_->compile(identity(value.type()));
    EXPECT_EQ(program->execute(std::span(&array, 1))[0]->to_host(), value) << name_of(dtype);
  }
}

TEST_F(PjrtRuntimeTest, ScalarsAndEmptyTensors) {
  for (const auto& value : {HostTensor::scalar(7.5f), HostTensor::zeros({0}),
                            HostTensor::zeros({3, 0, 2}, DType::kI32)}) {
    const auto array = put(value);
    EXPECT_EQ(array->to_host(), value);
    auto program = runtime_->compile(identity(value.type()));
    EXPECT_EQ(program->execute(std::span(&array, 1))[0]->to_host(), value) << to_text(value.type());
  }
}

TEST_F(PjrtRuntimeTest, ReadsResultsInRowMajorOrder) {
  Program program = {
      .name = "transpose",
      .text = R"(module @m { func.func public @main(%x: tensor<2x3xi32>) -> tensor<3x2xi32> {
        %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xi32>) -> tensor<3x2xi32>
        return %0 : tensor<3x2xi32> } })",
      .inputs = {{.name = "x", .type = {DType::kI32, {2, 3}}}},
      .outputs = {{.name = "y", .type = {DType::kI32, {3, 2}}}}};
  const auto x = put(HostTensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(runtime_->compile(program)->execute(std::span(&x, 1))[0]->to_host(),
            HostTensor({3, 2}, {1, 4, 2, 5, 3, 6}));
}

TEST_F(PjrtRuntimeTest, DonatedInputsCannotBeUsed) {
  auto program = runtime_->compile(doubling(true));
  const auto x = put(HostTensor({2}, {1.f, 2.f}));
  const auto y = program->execute(std::span(&x, 1));
  EXPECT_EQ(y[0]->to_host(), HostTensor({2}, {2.f, 4.f}));
  const std::string message =
      "array f32[2]: expected a value, got one that was donated to program 'doubling'; use its "
      "result";
  EXPECT_EQ(error_of<DeviceError>([&] { x->to_host(); }), message);
  EXPECT_EQ(error_of<DeviceError>([&] { x->wait(); }), message);
  EXPECT_EQ(error_of<DeviceError>([&] { program->execute(std::span(&x, 1)); }), message);
}

TEST_F(PjrtRuntimeTest, DonationReusesTheBuffer) {
  auto program = runtime_->compile(doubling(true));
  ASSERT_TRUE(program->memory());
  EXPECT_EQ(program->memory()->alias_bytes, 8);
  EXPECT_EQ(runtime_->compile(doubling(false))->memory()->alias_bytes, 0);
}

TEST_F(PjrtRuntimeTest, RefusesArgumentsThatDoNotFit) {
  auto program = runtime_->compile(doubling());
  const auto execute = [&](Arrays arguments) {
    return error_of<ShapeError>([&] { program->execute(arguments); });
  };
  EXPECT_EQ(execute({}), "program 'doubling': expected 1 arguments, got 0");
  EXPECT_EQ(execute({nullptr}),
            "program 'doubling', argument 0 'x': expected f32[2], got no array");
  EXPECT_EQ(execute({put(HostTensor::zeros({3}))}),
            "program 'doubling', argument 0 'x': expected f32[2], got f32[3]");
  EXPECT_EQ(
      execute({make_runtime({})->make_array(HostTensor::zeros({2}), {}, {})}),
      "program 'doubling', argument 0 'x': expected an array of this runtime, got one of another");
}

TEST_F(PjrtRuntimeTest, BadProgramsAreNamedByLine) {
  Program program = doubling();
  program.text =
      "module @m {\n func.func public @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n  return %x : "
      "tensor<2xf32>\n} }";
  const Thrown error = thrown_by<DeviceError>([&] { runtime_->compile(program); });
  EXPECT_EQ(error.code, ExitCode::kDoesNotCompile);
  EXPECT_THAT(error.message, ::testing::StartsWith("program 'doubling': "));
  EXPECT_THAT(error.message,
              HasSubstr(":3:3: error: type of return operand 0"));  // line and column of the text
}

TEST_F(PjrtRuntimeTest, ASignatureWithOtherResultsIsRefused) {
  Program program = doubling();
  program.outputs.push_back(program.outputs[0]);
  EXPECT_EQ(error_of<DeviceError>([&] { runtime_->compile(program); }),
            "program 'doubling': expected 2 results, got an executable with 1");
}

TEST_F(PjrtRuntimeTest, CompilerSettingsAreChecked) {
  EXPECT_TRUE(
      runtime_->compile(doubling(), {.overrides = {{"xla_cpu_enable_fast_math", "true"},
                                                   {"xla_backend_optimization_level", "1"}}}));
  EXPECT_THAT(error_of<ConfigError>([&] {
                runtime_->compile(doubling(), {.overrides = {{"xla_no_such_flag", "1"}}});
              }),
              HasSubstr("xla_no_such_flag"));
}

TEST_F(PjrtRuntimeTest, AMeshNeedsItsDevices) {
  Program program = doubling();
  program.mesh = {{{"data", 2}}};
  EXPECT_EQ(error_of<DeviceError>([&] { runtime_->compile(program); }),
            "mesh: expected at most the 1 devices of 'cpu', got a mesh of 2");
}

TEST_F(PjrtRuntimeTest, SerializedExecutablesRunAgain) {
  const std::string bytes = runtime_->compile(doubling())->serialize();
  EXPECT_FALSE(bytes.empty());
  auto other = make_runtime({});
  const auto x = other->make_array(HostTensor({2}, {1.f, 2.f}), {}, {});
  EXPECT_EQ(other->load(bytes, doubling())->execute(std::span(&x, 1))[0]->to_host(),
            HostTensor({2}, {2.f, 4.f}));
  EXPECT_THAT(error_of<DeviceError>([&] { other->load("nonsense", doubling()); }),
              HasSubstr("program 'doubling', from bytes"));
}

TEST_F(PjrtRuntimeTest, SecondCompilationIsReadFromTheCache) {
  const TempDir dir;
  const CompileOptions options{.cache_dir = dir.path().string()};
  const auto entries = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      if (entry.path().extension() == ".axlexe") found.push_back(entry.path());
    }
    return found;
  };
  runtime_->compile(doubling(), options);
  ASSERT_EQ(entries().size(), 1u);
  const auto first = std::filesystem::last_write_time(entries()[0]);

  // The cache holds the executable of another program under this one's key, so that the result
  // shows that the executable was read and not compiled again.
  const ExecutableCache cache(dir.path());
  const std::string key = entries()[0].stem();
  auto fresh = make_runtime({});
  const auto x = fresh->make_array(HostTensor({2}, {1.f, 2.f}), {}, {});
  cache.write(key, runtime_->compile(identity(kPair))->serialize());
  Program located = doubling();
  located.text.insert(located.text.find("\n return"), " loc(\"a/layer\")");
  EXPECT_EQ(fresh->compile(located, options)->execute(std::span(&x, 1))[0]->to_host(),
            HostTensor({2}, {1.f, 2.f}));

  for (const std::string damaged : {"", "nonsense"}) {
    cache.write(key, damaged);  // valid for the cache but not for the plugin
    EXPECT_EQ(fresh->compile(doubling(), options)->execute(std::span(&x, 1))[0]->to_host(),
              HostTensor({2}, {2.f, 4.f}));
    EXPECT_GT(cache.read(key)->size(), 100u);  // replaced
  }
  runtime_->compile(doubling(), {.overrides = {{"xla_cpu_enable_fast_math", "true"}},
                                 .cache_dir = dir.path().string()});
  runtime_->compile(doubling(true), options);
  EXPECT_EQ(entries().size(), 3u);  // options and text are part of the key
  EXPECT_GE(std::filesystem::last_write_time(cache.path(key)), first);
}

TEST_F(PjrtRuntimeTest, KnowsMemoryAndOptimizedProgram) {
  auto program = runtime_->compile(doubling());
  ASSERT_TRUE(program->memory());
  EXPECT_EQ(program->memory()->argument_bytes, 8);
  EXPECT_EQ(program->memory()->output_bytes, 8);
  EXPECT_THAT(program->optimized_program(), HasSubstr("add"));
}

TEST_F(PjrtRuntimeTest, ArraysOutliveTheirRuntime) {
  const auto x = put(HostTensor({2}, {1.f, 2.f}));
  auto program = runtime_->compile(doubling());
  runtime_.reset();
  auto y = program->execute(std::span(&x, 1));
  program.reset();
  EXPECT_EQ(y[0]->to_host(), HostTensor({2}, {2.f, 4.f}));
}

TEST_F(PjrtRuntimeTest, ArraysAreMadeAndReadOnSeveralThreads) {
  auto program = runtime_->compile(doubling());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const float v = static_cast<float>(100 * t + i);
        const auto x = put(HostTensor({2}, {v, -v}));
        if (program->execute(std::span(&x, 1))[0]->to_host() != HostTensor({2}, {2 * v, -2 * v}))
          ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(PjrtRuntimeTest, ThePluginHasAllCallsThatWeUse) {
  const auto& plugin = load_plugin("cpu");
  for (const auto* calls : {&pjrt::required_calls(), &pjrt::optional_calls()}) {
    for (const auto& call : *calls) {
      const size_t end =
          offsetof(pjrt::Api, slots) + sizeof(void*) * (static_cast<size_t>(call.slot) + 1);
      EXPECT_GE(plugin.api().struct_size, end) << call.name;
      EXPECT_NE(plugin.api().slots[call.slot], nullptr) << call.name;
    }
  }
}

TEST_F(PjrtRuntimeTest, TheDoctorSeesThePlugin) {
  for (const auto& status : plugin_statuses()) {
    if (status.platform != "cpu") continue;
    EXPECT_EQ(status.problem, "");
    EXPECT_FALSE(status.api_version.empty());
    EXPECT_TRUE(status.attributes.contains("stablehlo_current_version"));
    EXPECT_THAT(status.extensions, ::testing::Contains("FFI"));
  }
}

}  // namespace
}  // namespace axle
