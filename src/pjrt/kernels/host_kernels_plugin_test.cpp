// Law: where a host kernel runs, a program computes what the kernel's fallback computes.
#include <gmock/gmock.h>

#include "lower/stablehlo.h"
#include "ops/kernels/kernel.h"
#include "pjrt/kernels/host_kernels.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/collective_samples.h"
#include "testing/error_of.h"
#include "testing/plugin_fixture.h"
#include "testing/temp_dir.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/kernel/kernels.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using testing::kMesh;
using testing::normal_values;
using testing::over;

Values gate(const Values& v) { return {gated_silu(v[0], v[1])}; }

Values slopes(const TensorFunction& fn, const Values& v) {
  const auto loss = [&](const Values& x) {
    const Tensor y = astype(fn(x)[0], DType::kF32);
    return Values{sum(y * y)};
  };
  return value_and_grad(loss, v).second;
}

// All choices that a program of fn leads to on this runtime, one a line.
std::string choices_of(const Runtime& runtime, const TensorFunction& fn,
                       const std::vector<Type>& types, const Mesh& mesh = {}) {
  std::vector<ProgramValue> inputs, outputs;
  for (const Type& type : types) inputs.push_back({"x" + std::to_string(inputs.size()), type});
  const auto named = [&](const Values& x) {
    const Values y = fn(x);
    for (const Tensor& t : y) outputs.push_back({"y" + std::to_string(outputs.size()), t.type()});
    return y;
  };
  const Program p = trace_program("choices", named, inputs, outputs, mesh);
  std::string out;
  const auto target = dynamic_cast<const PjrtRuntime&>(runtime).lowering_target();
  for (const LoweringChoice& choice : lowered_for(p, target).choices) out += to_text(choice) + "\n";
  return out;
}

using HostKernels = PluginTest;

TEST_F(HostKernels, GateMatchesItsFallback) {
  const HostTensor a = normal_values({7, 33}, 1, 3), b = normal_values({7, 33}, 2);
  const auto of_gate = [](const Values& v) { return slopes(gate, v); };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(to_text(dtype));
    EXPECT_EQ(choices_of(*runtime_, gate, {{dtype, {7, 33}}, {dtype, {7, 33}}}),
              "kernel gated_silu: host kernel 1\n");
    expect_same(gate, {a.astype(dtype), b.astype(dtype)}, dtype == DType::kF32 ? 1e-6 : 2e-2);
    expect_same(of_gate, {a.astype(dtype), b.astype(dtype)}, dtype == DType::kF32 ? 1e-6 : 4e-2);
  }
  EXPECT_EQ(choices_of(*runtime_, of_gate, {a.type(), a.type()}),
            "kernel gated_silu: host kernel 1\nkernel gated_silu_vjp: host kernel 1\n");
}

TEST_F(HostKernels, ThreadsShareALargeTensor) {
  const HostTensor a = normal_values({257, 1021}, 3), b = normal_values({257, 1021}, 4);
  expect_same(gate, {a, b}, 1e-6);
}

TEST_F(HostKernels, TakeScalarsAndEmptyTensors) {
  expect_same(gate, {HostTensor::scalar(2.0f), HostTensor::scalar(-3.0f)}, 1e-6);
  expect_same(gate, {HostTensor::zeros({0, 4}), HostTensor::zeros({0, 4})}, 0);
}

TEST_F(HostKernels, RunUnderVmapAndInLoops) {
  const HostTensor a = normal_values({3, 5}, 5), b = normal_values({5}, 6);
  const auto of_batch = [](const Values& v) {
    return vmap(gate, v, {.in_axes = {0, std::nullopt}});
  };
  expect_same(of_batch, {a, b}, 1e-6);
  const auto in_loop = [](const Values& v) {
    const auto step = [&](const Values& c, const Values& x) {
      return ScanResult{gate({c[0], x[0]}), {}};
    };
    return scan(step, {v[1]}, {v[0]}, 3).carry;
  };
  expect_same(in_loop, {a, b}, 1e-6);
  expect_same([&](const Values& v) { return slopes(in_loop, v); }, {a, b}, 1e-5);
}

TEST_F(HostKernels, ACallThatTheKernelRefusesRunsTheFallback) {
  const Type half{DType::kF16, {4}};
  EXPECT_EQ(choices_of(*runtime_, gate, {half, half}),
            "kernel gated_silu: fallback, since host kernel 1: expected f32 or bf16, got f16[4]\n");
  const HostTensor x = normal_values({4}, 7).astype(DType::kF16);
  ::testing::internal::CaptureStderr();
  expect_same(gate, {x, x}, 1e-2);
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("WARNING: program 'test': kernel gated_silu: fallback, since host kernel 1: "
                "expected f32 or bf16, got f16[4]\n"));
}

// Writes the attributes of its call; the sign of the scale tells it to fail.
void write_attributes(const HostKernelCall& call) {
  const auto& a = call.attributes;
  if (a.get<double>("scale") < 0) throw ShapeError("expected a positive scale");
  const auto y = call.results[0].values<float>();
  y[0] = static_cast<float>(a.get<double>("scale") * call.operands[0].values<float>()[0]);
  y[1] = static_cast<float>(a.get<int64_t>("count"));
  y[2] = a.get<bool>("flag") ? 1 : 0;
  y[3] = static_cast<float>(a.get<std::string>("text").size());
}
const KernelImplementation attributes_on_host({.kernel = "attributes",
                                               .platform = "cpu",
                                               .host = write_attributes});
const Kernel attributes_kernel{
    .name = "attributes",
    .fallback = [](const Values& v, const KernelAttributes&) { return Values{zeros_like(v[0])}; }};
KernelAttributes attributes(double scale) {
  return {{{"count", int64_t{-5}}, {"flag", true}, {"scale", scale}, {"text", "a \"b\"\n"}}};
}

TEST_F(HostKernels, AttributesArriveWithTheirTypes) {
  const auto fn = [](const Values& v) {
    return kernel_call(attributes_kernel, v, attributes(0.5));
  };
  EXPECT_EQ(run(fn, {HostTensor({4}, {3.0f, 0.0f, 0.0f, 0.0f})}).at(0),
            HostTensor({4}, {1.5f, -5.0f, 1.0f, 6.0f}));
}

TEST_F(HostKernels, ErrorInAKernelIsAnErrorOfTheProgram) {
  const auto fn = [](const Values& v) { return kernel_call(attributes_kernel, v, attributes(-1)); };
  EXPECT_THAT(error_of<DeviceError>([&] { run(fn, {HostTensor::zeros({4})}); }),
              HasSubstr("expected a positive scale"));
}

TEST_F(HostKernels, ACachedProgramFindsItsKernels) {
  const TempDir dir;
  const CompileOptions options{.cache_dir = dir.path()};
  const ProgramValue value{"x", {DType::kF32, {4}}};
  const Program p = trace_program("cached", gate, {value, value}, {value});
  const ArrayPtr x = put(HostTensor({4}, {1.0f, 2.0f, -1.0f, 0.0f}));
  const auto result = [&] {
    return runtime_->compile(p, options)->execute(std::vector{x, x}).at(0)->to_host();
  };
  const HostTensor first = result();
  EXPECT_FALSE(std::filesystem::is_empty(dir.path()));
  EXPECT_EQ(result(), first);
}

class HostKernelsOnMesh : public PluginTest {
 protected:
  HostKernelsOnMesh() : PluginTest(kMesh) {}
};

TEST_F(HostKernelsOnMesh, RunOnPartsInAShardMap) {
  const PartitionSpec spec{{"data", "model"}};
  const auto fn = [&](const Values& v) { return shard_map(gate, v, over({spec, spec}, {spec})); };
  const HostTensor a = normal_values({4, 8}, 8), b = normal_values({4, 8}, 9);
  expect_same(fn, {a, b}, 1e-6);
  expect_same([&](const Values& v) { return slopes(fn, v); }, {a, b}, 1e-5);
  EXPECT_EQ(choices_of(*runtime_, fn, {a.type(), a.type()}, kMesh),
            "kernel gated_silu: host kernel 1\n");
}

TEST_F(HostKernelsOnMesh, RunOnPartsIfTheCallHasSpecs) {
  const PartitionSpec spec{{"data", "model"}};
  const auto fn = [&](const Values& v) {
    return Values{gated_silu(v[0], v[1], {.specs = {spec, spec}})};
  };
  const auto of_batch = [&](const Values& v) { return vmap(fn, v, {.in_axes = {0, 0}}); };
  const HostTensor a = normal_values({4, 8}, 8), b = normal_values({4, 8}, 9);
  expect_same(fn, {a, b}, 1e-6);
  const auto of_fn = [&](const Values& v) { return slopes(fn, v); };
  expect_same(of_fn, {a, b}, 1e-5);
  EXPECT_EQ(choices_of(*runtime_, of_fn, {a.type(), a.type()}, kMesh),
            "kernel gated_silu: host kernel 1\nkernel gated_silu_vjp: host kernel 1\n");
  expect_same(of_batch, {normal_values({3, 4, 8}, 8), normal_values({3, 4, 8}, 9)}, 1e-6);
}

TEST_F(HostKernelsOnMesh, RunWhereSomeAxesAreManual) {
  const auto fn = [&](const Values& v) {
    return shard_map(
        [](const Values& p) {
          const PartitionSpec rows{{"data"}};
          return Values{gated_silu(p[0], p[1], {.specs = {rows, rows}})};
        },
        v, over({{{{}, "model"}}, {{{}, "model"}}}, {{{{}, "model"}}}, {"model"}));
  };
  expect_same(fn, {normal_values({4, 8}, 8), normal_values({4, 8}, 9)}, 1e-6);
}

}  // namespace
}  // namespace axle
