// Eight virtual devices of the real CPU plugin: sharded arrays and a partitioned program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

const Mesh kCube{{{"data", 2}, {"fsdp", 2}, {"model", 2}}};

class PjrtMeshTest : public PluginTest {
 protected:
  PjrtMeshTest() : PluginTest(8) {}
};

HostTensor waves(Shape shape, double step) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  double at = 0;
  for (float& v : out.values<float>()) v = static_cast<float>(std::sin(at += step));
  return out;
}

/// Computes the result of the program below: tanh(x w) v, then each half of `data` adds the rows of
/// the other half.
HostTensor expected(const HostTensor& x, const HostTensor& w, const HostTensor& v) {
  const int64_t rows = x.shape()[0], inner = w.shape()[1];
  HostTensor y = HostTensor::zeros({rows, v.shape()[1]});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t h = 0; h < inner; ++h) {
      double sum = 0;
      for (int64_t k = 0; k < w.shape()[0]; ++k)
        sum += x.at(r * w.shape()[0] + k) * w.at(k * inner + h);
      for (int64_t c = 0; c < v.shape()[1]; ++c) {
        y.values<float>()[r * v.shape()[1] + c] +=
            static_cast<float>(std::tanh(sum) * v.at(h * v.shape()[1] + c));
      }
    }
  }
  HostTensor out = y;
  const auto half = static_cast<size_t>(y.size() / 2);
  for (size_t i = 0; i < static_cast<size_t>(y.size()); ++i) {
    out.values<float>()[i] = y.values<float>()[i] + y.values<float>()[(i + half) % (2 * half)];
  }
  return out;
}

Program partitioned() {
  const Type x{DType::kF32, {16, 8}}, w{DType::kF32, {8, 12}}, v{DType::kF32, {12, 8}};
  const PartitionSpec rows{{{"data", "fsdp"}, {}}};
  return {
      .name = "partitioned",
      .text = R"(module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "fsdp"=2, "model"=2]>
  func.func public @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "fsdp"}, {}]>},
                         %w: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>},
                         %v: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"fsdp"}]>})
      -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "fsdp"}, {}]>}) {
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}> : (tensor<16x8xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
    %1 = "stablehlo.tanh"(%0) : (tensor<16x12xf32>) -> tensor<16x12xf32>
    %2 = "stablehlo.dot_general"(%1, %v) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [0]>}> : (tensor<16x12xf32>, tensor<12x8xf32>) -> tensor<16x8xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>]
        manual_axes={"data"} (%a: tensor<8x8xf32>) {
      %s = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0,4],[1,5],[2,6],[3,7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %r = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%r) : (tensor<f32>) -> () }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sdy.return %s : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %3 : tensor<16x8xf32>
  }
})",
      .inputs = {{"x", x, rows},
                 {"w", w, {{{"fsdp"}, {"model"}}}},
                 {"v", v, {{{"model"}, {"fsdp"}}}}},
      .outputs = {{"y", x, rows}},
      .mesh = kCube};
}

TEST_F(PjrtMeshTest, ReadsShardedArraysWhole) {
  const auto value = waves({4, 6, 8}, 0.1);
  for (const PartitionSpec& spec :
       {PartitionSpec{}, PartitionSpec{{{"data", "fsdp"}}}, PartitionSpec{{{}, {"model"}, {}}},
        PartitionSpec{{{"fsdp"}, {"data"}, {"model"}}},
        PartitionSpec{{{}, {}, {"model", "data", "fsdp"}}}}) {
    const auto array = runtime_->make_array(value, spec, kCube);
    array->wait();
    EXPECT_EQ(array->to_host(), value) << to_text(spec);
  }
  EXPECT_THROW(runtime_->make_array(waves({6}, 1), {{{"data", "fsdp"}}}, kCube), ConfigError);
}

TEST_F(PjrtMeshTest, PartitionedProgramsMatchTheWhole) {
  const auto program = partitioned();
  auto executable = runtime_->compile(program);
  const auto x = waves({16, 8}, 0.37), w = waves({8, 12}, 0.73), v = waves({12, 8}, 0.51);
  const Arrays arguments = {runtime_->make_array(x, program.inputs[0].sharding, kCube),
                            runtime_->make_array(w, program.inputs[1].sharding, kCube),
                            runtime_->make_array(v, program.inputs[2].sharding, kCube)};
  const auto y = executable->execute(arguments)[0]->to_host();
  const auto reference = expected(x, w, v);
  testing::expect_near(y, reference, 1e-5);
  // Bytes per device: x, w and v are each divided into 4 shards.
  EXPECT_EQ(executable->memory()->argument_bytes, (16 * 8 + 8 * 12 + 12 * 8) * 4 / 4);
  EXPECT_THAT(executable->optimized_program(), ::testing::HasSubstr("all-reduce"));
}

TEST_F(PjrtMeshTest, PartitionedProgramsAreLoadedAsTheyWereSaved) {
  const std::string bytes = runtime_->compile(partitioned())->serialize();
  auto fresh = make_runtime({.num_devices = 8});
  const auto program = partitioned();
  Arrays zeros;
  for (const auto& input : program.inputs) {
    zeros.push_back(fresh->make_array(HostTensor(input.type), input.sharding, program.mesh));
  }
  EXPECT_EQ(fresh->load(bytes, program)->execute(zeros)[0]->to_host(), HostTensor::zeros({16, 8}));
}

TEST_F(PjrtMeshTest, ArgumentsNeedTheProgramsSharding) {
  const auto program = partitioned();
  auto executable = runtime_->compile(program);
  Arrays arguments;
  for (const auto& input : program.inputs) {
    arguments.push_back(runtime_->make_array(HostTensor(input.type), {}, kCube));
  }
  EXPECT_EQ(error_of<ShapeError>([&] { executable->execute(arguments); }),
            "program 'partitioned', argument 0 'x': expected sharding [[data, fsdp], None] over 8 "
            "devices, got [None, None] over 8");
}

TEST_F(PjrtMeshTest, AMeshMayUseFewerDevicesThanThereAre) {
  const Mesh pair{{{"data", 2}}};
  const PartitionSpec halves{{{"data"}}};
  const Type type{DType::kI32, {4}};
  const Program program = {.name = "negate",
                           .text = R"(module @m attributes {mhlo.num_partitions = 2 : i32} {
        sdy.mesh @mesh = <["data"=2]>
        func.func public @main(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
            -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
          %0 = "stablehlo.negate"(%x) : (tensor<4xi32>) -> tensor<4xi32>
          return %0 : tensor<4xi32> } })",
                           .inputs = {{"x", type, halves}},
                           .outputs = {{"y", type, halves}},
                           .mesh = pair};
  const auto x = runtime_->make_array(HostTensor({4}, {1, 2, 3, 4}), halves, pair);
  EXPECT_EQ(runtime_->compile(program)->execute(std::span(&x, 1))[0]->to_host(),
            HostTensor({4}, {-1, -2, -3, -4}));
}

}  // namespace
}  // namespace axle
