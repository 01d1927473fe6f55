// The collectives on simulated devices, without shard_map: what each device gets, and which calls
// are refused.
#include <map>

#include "ir/devices/sharding.h"
#include "ir/devices/simulated_devices.h"
#include "ir/text/text_form.h"
#include "ops/ops.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using testing::elements;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<MeshAxis> kAxes = {{"data", 2}, {"model", 2}};

// The body of a program for one device of `axes`: its argument comes first, then its position along
// each axis.
std::shared_ptr<const Region> body(const std::vector<MeshAxis>& axes,
                                   const std::function<Tensor(const Tensor&)>& fn,
                                   const Type& type) {
  auto region = std::make_shared<Region>();
  const TraceScope trace(*region);
  const Tensor own = region->add_parameter(type);
  std::map<std::string, Tensor> positions;
  for (const MeshAxis& axis : axes)
    positions.emplace(axis.name, region->add_parameter({DType::kI32, {1}}));
  const ManualAxes manual(axes, [&](const MeshAxis& axis) { return positions.at(axis.name); });
  region->set_results({fn(own)});
  return region;
}

// Returns the result of fn on each device. Device i of the grid has the argument x[i].
std::vector<HostTensor> on_devices(const std::vector<MeshAxis>& axes,
                                   const std::vector<HostTensor>& x,
                                   const std::function<Tensor(const Tensor&)>& fn) {
  const auto region = body(axes, fn, x[0].type());
  std::vector<HostTensor> out = x;
  run_devices(axes, [&](int64_t device) {
    HostTensor& own = out[device];
    std::vector<HostTensor> arguments = {own};
    for (const MeshAxis& axis : axes) {
      const int64_t at = SimulatedDevice::current().position().at(axis.name);
      arguments.emplace_back(Shape{1}, std::initializer_list<int32_t>{static_cast<int32_t>(at)});
    }
    own = evaluate(*region, std::move(arguments))[0];
  });
  return out;
}

// Does the same for one number a device: 1, 2, 4, 8, so that each sum shows who is in it.
std::vector<double> of_powers(const std::function<Tensor(const Tensor&)>& fn) {
  std::vector<HostTensor> x;
  for (const float v : {1.f, 2.f, 4.f, 8.f}) x.push_back(HostTensor({1}, {v}));
  std::vector<double> out;
  for (const HostTensor& y : on_devices(kAxes, x, fn)) out.push_back(y.at(0));
  return out;
}

// Returns the message of what fn() throws, without the list of operands at its end.
template <class Fn>
std::string error_of_call(const Fn& fn) {
  const std::string all = error_without_lines<ShapeError>(fn);
  return all.substr(0, all.find("; operands: "));
}

// The message for a call in the body of a program over kAxes.
std::string error_in(const std::function<Tensor(const Tensor&)>& fn, const Type& type) {
  return error_of_call([&] { body(kAxes, fn, type); });
}

const Type kPair{DType::kF32, {2}};

TEST(AllReduce, AGroupHasTheDevicesThatDifferAlongItsAxes) {
  const auto sum_over = [](const DimAxes& axes) {
    return of_powers([&](const Tensor& x) { return psum(x, axes); });
  };
  EXPECT_THAT(sum_over({"model"}), ElementsAre(3, 3, 12, 12));
  EXPECT_THAT(sum_over({"data"}), ElementsAre(5, 10, 5, 10));
  EXPECT_THAT(sum_over({"data", "model"}), ElementsAre(15, 15, 15, 15));
  EXPECT_THAT(sum_over({}), ElementsAre(1, 2, 4, 8)) << "no axis, no sum";
}

TEST(AllReduce, MeansAndExtrema) {
  EXPECT_THAT(of_powers([](const Tensor& x) { return pmean(x, {"model"}); }),
              ElementsAre(1.5, 1.5, 6, 6));
  EXPECT_THAT(of_powers([](const Tensor& x) { return pmax(x, {"data"}); }),
              ElementsAre(4, 8, 4, 8));
  EXPECT_THAT(of_powers([](const Tensor& x) { return pmin(x, {"data"}); }),
              ElementsAre(1, 2, 1, 2));
}

TEST(AllReduce, MeansOfIntegersAndPredicatesAreFloats) {
  const auto mean_of = [](const std::vector<HostTensor>& x, const DimAxes& axes) {
    return on_devices(kAxes, x, [&](const Tensor& own) { return pmean(own, axes); })[3];
  };
  std::vector<HostTensor> numbers, predicates;
  for (const int32_t v : {1, 2, 4, 9}) numbers.push_back(HostTensor({1}, {v}));
  for (const bool v : {true, false, false, false}) predicates.push_back(HostTensor({1}, {v}));
  EXPECT_EQ(mean_of(numbers, {"model"}), HostTensor({1}, {6.5f}));
  EXPECT_EQ(mean_of(numbers, {}), HostTensor({1}, {9.f}));
  EXPECT_EQ(mean_of(predicates, {"data", "model"}), HostTensor({1}, {0.25f}));
}

TEST(AxisIndex, IsRowMajorInTheOrderOfTheNames) {
  const auto index = [](const DimAxes& axes) {
    return of_powers([&](const Tensor&) { return reshape(axis_index(axes), {1}); });
  };
  EXPECT_THAT(index({"model"}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(index({"data", "model"}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(index({"model", "data"}), ElementsAre(0, 2, 1, 3));
  body(
      kAxes,
      [](const Tensor& x) {
        EXPECT_EQ(axis_size({"data"}), 2);
        EXPECT_EQ(axis_size({"data", "model"}), 4);
        EXPECT_EQ(axis_size({}), 1);
        return x;
      },
      kPair);
}

// Device i has the row [10 i, 10 i + 1].
std::vector<HostTensor> rows() {
  std::vector<HostTensor> out;
  for (const float i : {0.f, 10.f, 20.f, 30.f}) out.push_back(HostTensor({1, 2}, {i, i + 1}));
  return out;
}

TEST(AllGather, PutsThePartsInTheOrderOfTheGroup) {
  const auto gathered = [](const DimAxes& axes, int64_t dim) {
    return on_devices(kAxes, rows(), [&](const Tensor& x) { return all_gather(x, axes, dim); });
  };
  const auto below = gathered({"model"}, 0);
  EXPECT_EQ(below[0], HostTensor({2, 2}, {0.f, 1.f, 10.f, 11.f}));
  EXPECT_EQ(below[0], below[1]);
  EXPECT_EQ(below[3], HostTensor({2, 2}, {20.f, 21.f, 30.f, 31.f}));
  EXPECT_EQ(gathered({"data"}, -1)[1], HostTensor({1, 4}, {10.f, 11.f, 30.f, 31.f}));
  EXPECT_THAT(elements(gathered({"model", "data"}, 1)[2]),
              ElementsAre(0, 1, 20, 21, 10, 11, 30, 31));
}

TEST(ReduceScatter, EachDeviceGetsItsPartOfTheSum) {
  const auto y =
      on_devices(kAxes, rows(), [](const Tensor& x) { return reduce_scatter(x, {"model"}, 1); });
  EXPECT_EQ(y[0], HostTensor({1, 1}, {10.f}));
  EXPECT_EQ(y[1], HostTensor({1, 1}, {12.f}));
  EXPECT_EQ(y[2], HostTensor({1, 1}, {50.f}));
  EXPECT_EQ(y[3], HostTensor({1, 1}, {52.f}));
}

TEST(AllToAll, SplitsOneDimAndJoinsAnother) {
  const auto y =
      on_devices(kAxes, rows(), [](const Tensor& x) { return all_to_all(x, {"data"}, 1, 0); });
  EXPECT_EQ(y[0], HostTensor({2, 1}, {0.f, 20.f}));
  EXPECT_EQ(y[1], HostTensor({2, 1}, {10.f, 30.f}));
  EXPECT_EQ(y[2], HostTensor({2, 1}, {1.f, 21.f}));
  const auto back = on_devices(kAxes, rows(), [](const Tensor& x) {
    return all_to_all(all_to_all(x, {"data"}, 1, 0), {"data"}, 0, 1);
  });
  EXPECT_EQ(back, rows());
}

TEST(PPermute, SendsAlongThePairsAndFillsWithZeros) {
  EXPECT_THAT(of_powers([](const Tensor& x) {
                return ppermute(x, {"data", "model"}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
              }),
              ElementsAre(8, 1, 2, 4));
  EXPECT_THAT(of_powers([](const Tensor& x) {
                return ppermute(x, {"model"}, {{0, 1}});
              }),
              ElementsAre(0, 1, 0, 4));
}

TEST(PPermute, RefusesPairsThatAreNoPermutation) {
  const auto error = [](const DevicePairs& pairs) {
    return error_in([&](const Tensor& x) { return ppermute(x, {"model"}, pairs); }, kPair);
  };
  EXPECT_EQ(error({{0, 2}}),
            "the top level: ppermute: expected pairs of different devices below 2, got [(0, 2)]");
  EXPECT_EQ(
      error({{0, 1}, {1, 1}}),
      "the top level: ppermute: expected pairs of different devices below 2, got [(0, 1), (1, 1)]");
  EXPECT_EQ(error({{-1, 0}}),
            "the top level: ppermute: expected pairs of different devices below 2, got [(-1, 0)]");
}

// Device 0 of each group sends both of its rows to device 1. Device 1 sends its second row to
// device 0.
TEST(RaggedAllToAll, SendsSlicesOfAnySize) {
  const auto y =
      on_devices(kAxes,
                 {HostTensor({2}, {1.f, 2.f}), HostTensor({2}, {3.f, 4.f}),
                  HostTensor({2}, {5.f, 6.f}), HostTensor({2}, {7.f, 8.f})},
                 [](const Tensor& x) {
                   const auto entries = [](std::initializer_list<int32_t> table) {
                     return take(constant(HostTensor({2, 2}, table)), axis_index({"model"}));
                   };
                   const RaggedSlices slices{.input_offsets = entries({0, 0, 1, 0}),
                                             .send_sizes = entries({0, 2, 1, 0}),
                                             .output_offsets = entries({0, 1, 2, 0}),
                                             .recv_sizes = entries({0, 1, 2, 0})};
                   return ragged_all_to_all(x, full({3}, -1.0), slices, {"model"});
                 });
  EXPECT_THAT(elements(y[0]), ElementsAre(-1, -1, 4));
  EXPECT_THAT(elements(y[1]), ElementsAre(-1, 1, 2));
  EXPECT_THAT(elements(y[2]), ElementsAre(-1, -1, 8));
  EXPECT_THAT(elements(y[3]), ElementsAre(-1, 5, 6));
}

TEST(RaggedAllToAll, RefusesSlicesThatDoNotFit) {
  const auto counts = [](int32_t v) { return constant(HostTensor({2}, {v, v})); };
  const auto call = [&](const Tensor& x, const Tensor& output, int32_t size) {
    return ragged_all_to_all(x, output, {counts(0), counts(size), counts(0), counts(size)},
                             {"model"});
  };
  EXPECT_EQ(error_in(
                [&](const Tensor& x) {
                  return call(x, full({3, 1}, 0.0), 1);
                },
                kPair),
            "the top level: ragged_all_to_all: expected an operand and an output that differ in "
            "dim 0 alone");
  EXPECT_EQ(error_in(
                [&](const Tensor& x) {
                  const Tensor one = constant(HostTensor({1}, {0}));
                  return ragged_all_to_all(x, x, {one, one, one, one}, {"model"});
                },
                kPair),
            "the top level: ragged_all_to_all: expected offsets and sizes of one integer dtype "
            "with 2 entries");
  const std::vector<HostTensor> x(4, HostTensor({2}, {1.f, 2.f}));
  EXPECT_EQ(error_of_call([&] {
              on_devices(kAxes, x, [&](const Tensor& own) { return call(own, own, 3); });
            }),
            "the top level: ragged_all_to_all: expected slices within the tensors, got 3 rows from "
            "0 to 0");
}

TEST(Collectives, AxesOfSizeOneAreLeftOut) {
  const std::vector<MeshAxis> axes = {{"data", 1}};
  const auto y = on_devices(axes, {HostTensor({2}, {1.f, 2.f})}, [](const Tensor& x) {
    const Tensor sum = reduce_scatter(all_gather(psum(x, {"data"}), {"data"}, 0), {"data"}, 0);
    return all_to_all(ppermute(sum, {"data"}, {{0, 0}}), {"data"}, 0, 0);
  });
  EXPECT_EQ(y[0], HostTensor({2}, {1.f, 2.f}));
  EXPECT_EQ(body(
                axes, [](const Tensor& x) { return psum(x, {"data"}); }, kPair)
                ->ops()
                .size(),
            0u);
  const auto nobody = on_devices(axes, {HostTensor({1}, {5.f})},
                                 [](const Tensor& x) { return ppermute(x, {"data"}, {}); });
  EXPECT_THAT(elements(nobody[0]), ElementsAre(0));
}

TEST(Collectives, NeedManualAxes) {
  EXPECT_EQ(error_in([](const Tensor& x) { return psum(x, {"modle"}); }, kPair),
            "the top level: psum: expected an axis that an enclosing shard_map makes manual (data, "
            "model), got 'modle'; call it inside shard_map over this axis");
  EXPECT_EQ(error_of_call([] {
              body(
                  {}, [](const Tensor& x) { return all_gather(x, {"model"}, 0); }, kPair);
            }),
            "the top level: all_gather: expected an axis that an enclosing shard_map makes manual "
            "(there is none), got 'model'; call it inside shard_map over this axis");
}

TEST(Collectives, NeedDimsThatTheDevicesDivide) {
  const Type three{DType::kF32, {3}};
  EXPECT_EQ(error_in([](const Tensor& x) { return reduce_scatter(x, {"model"}, 0); }, three),
            "the top level: reduce_scatter: expected a dim 0 that 2 devices divide, got 3");
  EXPECT_EQ(error_in([](const Tensor& x) { return all_to_all(x, {"model"}, 0, 0); }, three),
            "the top level: all_to_all: expected a dim 0 that 2 devices divide, got 3");
  EXPECT_EQ(error_in([](const Tensor& x) { return all_gather(x, {"model"}, 1); }, three),
            "the top level: all_gather: expected an axis of 1 dims, got 1");
}

TEST(Collectives, ArePrintedWithTheirAxes) {
  const auto region = body(
      kAxes,
      [](const Tensor& x) {
        const Tensor y = all_to_all(all_gather(x, {"model"}, 0), {"data"}, 0, 0);
        return ppermute(y, {"model"}, {{0, 1}});
      },
      kPair);
  const std::string text = print(*region);
  EXPECT_THAT(text, HasSubstr("axes = [model=2], dim = 0"));
  EXPECT_THAT(text, HasSubstr("axes = [data=2], split_dim = 0, concat_dim = 0"));
  EXPECT_THAT(text, HasSubstr("axes = [model=2], pairs = [(0, 1)]"));
}

}  // namespace
}  // namespace axle
