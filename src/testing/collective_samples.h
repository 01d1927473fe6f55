// Calls of the collectives, for the laws that simulated devices and plugins return what they mean.
#pragma once

#include <string>
#include <vector>

#include "ops/ops.h"
#include "transform/shard_map/shard_map.h"
#include "transform/vmap.h"

namespace axle::testing {

/// The mesh of the samples.
inline const Mesh kMesh{{{"data", 2}, {"model", 4}}};

inline ShardMapOptions over(std::vector<PartitionSpec> in, std::vector<PartitionSpec> out,
                            DimAxes axes = {}) {
  return {.mesh = kMesh, .in_specs = std::move(in), .out_specs = std::move(out), .axes = axes};
}

/// A collective over an f32[8, 4], and what it means, written for the whole tensor.
struct CollectiveSample {
  std::string name;
  TensorFunction on_devices;
  TensorFunction on_one;
};

/// Returns the row of a table for this device along "model".
inline Tensor entries_of_device(const Tensor& table) { return take(table, axis_index({"model"})); }

/// Sends rows of a device's two rows to the devices along "model", into three rows that are made
/// from its own.
inline Tensor sent_rows(const Tensor& own) {
  // Of device i (its row of a table) for device j.
  const auto entries = [](std::initializer_list<int32_t> table) {
    return entries_of_device(constant(HostTensor({4, 4}, table)));
  };
  const RaggedSlices slices{.input_offsets = entries({0, 1, 0, 0,  //
                                                      0, 0, 0, 0,  //
                                                      0, 0, 0, 0,  //
                                                      0, 0, 0, 1}),
                            .send_sizes = entries({1, 1, 0, 0,  //
                                                   0, 0, 2, 0,  //
                                                   0, 0, 0, 0,  //
                                                   0, 1, 0, 1}),
                            .output_offsets = entries({1, 1, 0, 0,  //
                                                       0, 0, 1, 0,  //
                                                       0, 0, 0, 0,  //
                                                       0, 0, 0, 0}),
                            .recv_sizes = entries({1, 0, 0, 0,  //
                                                   1, 0, 0, 1,  //
                                                   0, 2, 0, 0,  //
                                                   0, 0, 0, 1})};
  const Tensor into = concatenate({own * 2, slice_in_dim(own, 0, 0, 1)}, 0);
  return ragged_all_to_all(own, into, slices, {"model"});
}

/// The sum of the squares of each row of v[0], [B, K], under a vmap: K is divided over "model", and
/// the batch B over "data".
inline Values divided_batch(const Values& v) {
  return vmap(
      [](const Values& row) {
        return shard_map([](const Values& p) { return Values{psum(p[0] * p[0], {"model"})}; }, row,
                         over({{{"model"}}}, {{}}));
      },
      v, {.mesh_axes = {"data"}});
}

inline std::vector<CollectiveSample> collectives() {
  const auto map = [](const TensorFunction& fn, PartitionSpec in, PartitionSpec out) {
    return [=](const Values& v) { return shard_map(fn, v, over({in}, {out})); };
  };
  const PartitionSpec blocks{{DimAxes("model"), DimAxes("data")}};
  const auto parts = [](const Tensor& x) { return split(x, {2, 2, 2, 2}, 0); };
  return {
      {"psum", map([](const Values& p) { return Values{psum(p[0], {"model"})}; }, {{"model"}}, {}),
       [=](const Values& v) {
         const Values p = parts(v[0]);
         return Values{p[0] + p[1] + p[2] + p[3]};
       }},
      {"pmean",
       map([](const Values& p) { return Values{pmean(p[0], {"model"})}; }, {{"model"}}, {}),
       [=](const Values& v) {
         const Values p = parts(v[0]);
         return Values{(p[0] + p[1] + p[2] + p[3]) / 4};
       }},
      {"pmax", map([](const Values& p) { return Values{pmax(p[0], {"model"})}; }, {{"model"}}, {}),
       [=](const Values& v) {
         const Values p = parts(v[0]);
         return Values{maximum(maximum(p[0], p[1]), maximum(p[2], p[3]))};
       }},
      {"pmin", map([](const Values& p) { return Values{pmin(p[0], {"model"})}; }, {{"model"}}, {}),
       [=](const Values& v) {
         const Values p = parts(v[0]);
         return Values{minimum(minimum(p[0], p[1]), minimum(p[2], p[3]))};
       }},
      {"all_gather",
       map([](const Values& p) { return Values{all_gather(sin(p[0]), {"model"}, 1)}; }, {{"model"}},
           {}),
       [=](const Values& v) { return Values{concatenate(parts(sin(v[0])), 1)}; }},
      {"reduce_scatter",
       map([](const Values& p) { return Values{reduce_scatter(sin(p[0]), {"model"}, 1)}; },
           {{"model"}}, {{kReplicated, "model"}}),
       [=](const Values& v) {
         const Values p = parts(sin(v[0]));
         return Values{p[0] + p[1] + p[2] + p[3]};
       }},
      {"all_to_all",
       map([](const Values& p) { return Values{all_to_all(p[0], {"model"}, 1, 0)}; }, {{"model"}},
           {{kReplicated, "model"}}),
       [](const Values& v) { return Values{v[0]}; }},
      {"ppermute",
       map(
           [](const Values& p) {
             return Values{ppermute(p[0], {"model"}, {{0, 1}, {1, 2}, {3, 0}})};
           },
           {{"model"}}, {{"model"}}),
       [=](const Values& v) {
         const Values p = parts(v[0]);
         return Values{concatenate({p[3], p[0], p[1], zeros_like(p[0])}, 0)};
       }},
      {"ragged_all_to_all",
       map([](const Values& p) { return Values{sent_rows(p[0])}; }, {{"model"}}, {{"model"}}),
       [](const Values& v) {
         const Values row = split_equally(v[0], 8, 0);
         return Values{concatenate({row[0] * 2, row[0], row[0],  //
                                    row[6], row[1], row[2],      //
                                    row[4] * 2, row[2], row[3],  //
                                    row[7], row[7] * 2, row[6]},
                                   0)};
       }},
      {"axis_index",
       map(
           [](const Values& p) {
             const Tensor i = axis_index({"data", "model"});
             return Values{p[0] * astype(i, p[0].dtype())};
           },
           blocks, blocks),
       [](const Values& v) {
         // 8 rows over model, 4 columns over data: device 4 * data + model.
         const Tensor model = iota({8, 4}, 0) / scalar(2, DType::kI32);
         const Tensor data = iota({8, 4}, 1) / scalar(2, DType::kI32);
         return Values{v[0] * astype(data * 4 + model, v[0].dtype())};
       }}};
}

}  // namespace axle::testing
