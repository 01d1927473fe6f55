#include "hlo/module.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "hlo/proto_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Returns a program with an all-reduce in a loop of 12 iterations, with XLA's metadata.
std::string program() {
  HloWriter w;
  const ProtoWriter state = tuple_shape({array_shape({4, 8})});
  ProtoWriter all_reduce = grouped({{0, 1}, {2, 3}});
  all_reduce.varint(fields::kChannelId, 3);
  const int64_t p = w.parameter(state), x = w.element(p, 0, array_shape({4, 8}));
  const int64_t sum = w.add("all-reduce", array_shape({4, 8}), {x}, all_reduce);
  w.add("tuple", state, {sum});
  const int64_t body = w.end("body");
  w.parameter(state);
  w.add("constant", array_shape({}, fields::kPred), {});
  const int64_t condition = w.end("condition");
  const int64_t argument = w.parameter(state, 7);
  ProtoWriter loop = with(calls({body, condition}), op_name("m/add"));
  w.add("while", state, {argument},
        loop.bytes(fields::kBackendConfig, R"({"known_trip_count":{"n":"12"}})"));
  w.end("main");
  return w.bytes();
}

TEST(HloModule, IsDecoded) {
  const HloModule module = read_hlo_module(program());
  EXPECT_EQ(module.name, "step");
  ASSERT_EQ(module.computations.size(), 3u);
  EXPECT_EQ(module.entry, 2u);
  const HloInstruction& sum = module.computations[0].instructions[2];
  EXPECT_EQ(sum.opcode, "all-reduce");
  EXPECT_THAT(sum.operands, ElementsAre(1));
  EXPECT_EQ(sum.groups, (ReplicaGroups{{0, 1}, {2, 3}}));
  EXPECT_EQ(sum.channel_id, 3);
  EXPECT_TRUE(sum.use_global_device_ids);
  EXPECT_EQ(sum.shape.num_bytes(), 4 * 8 * 4);
  EXPECT_EQ(module.computations[0].root, 3u);
  EXPECT_EQ(module.computations[0].instructions[3].shape.num_bytes(), 4 * 8 * 4);
  const HloComputation& main = module.computations[2];
  EXPECT_EQ(main.instructions[0].parameter_number, 7);
  EXPECT_EQ(main.instructions[1].known_trip_count, 12);
  EXPECT_EQ(main.instructions[1].op_name, "m/add");
  EXPECT_THAT(main.instructions[1].called, ElementsAre(0, 1));
}

TEST(HloModule, MayBeWrappedWithItsConfiguration) {
  ProtoWriter wrapped;
  wrapped.bytes(fields::kModule, program()).bytes(fields::kConfig, "configuration");
  EXPECT_EQ(read_hlo_module(wrapped.text()).computations.size(), 3u);
}

TEST(HloModule, ConfigurationsMayBeSharedPayloads) {
  HloWriter w;
  w.parameter(array_shape({}));
  const int64_t body = w.end("body");
  w.parameter(array_shape({}));
  const int64_t condition = w.end("condition");
  const int64_t x = w.parameter(array_shape({}));
  ProtoWriter by_number = calls({body, condition}), in_place = by_number, payload, number;
  w.add("while", array_shape({}), {x},
        by_number.message(fields::kBackendConfigPayload, number.varint(fields::kPayloadNumber, 1)));
  w.add("while", array_shape({}), {x},
        in_place.message(fields::kBackendConfigPayload,
                         payload.bytes(fields::kPayloadText, R"({"known_trip_count":{"n":5}})")));
  w.end("main");
  ProtoWriter payloads;
  payloads.bytes(fields::kPayloads, "{}")
      .bytes(fields::kPayloads, R"({"known_trip_count":{"n":"3"}})");
  const HloModule module = read_hlo_module(w.bytes() + payloads.text());
  EXPECT_EQ(module.computations[2].instructions[1].known_trip_count, 3);
  EXPECT_EQ(module.computations[2].instructions[2].known_trip_count, 5);
}

TEST(HloModule, InvalidTripCountsAreUnknown) {
  const auto count = [](std::string_view n) {
    HloWriter w;
    w.parameter(array_shape({}));
    const int64_t body = w.end("body");
    w.parameter(array_shape({}));
    const int64_t condition = w.end("condition");
    const int64_t x = w.parameter(array_shape({}));
    w.add(
        "while", array_shape({}), {x},
        calls({body, condition})
            .bytes(fields::kBackendConfig, fmt::format(R"({{"known_trip_count":{{"n":{}}}}})", n)));
    w.end("main");
    return read_hlo_module(w.bytes()).computations[2].instructions[1].known_trip_count;
  };
  EXPECT_EQ(count(R"("0")"), 0);
  EXPECT_EQ(count("7"), 7);
  EXPECT_EQ(count(R"("9223372036854775807")"), std::numeric_limits<int64_t>::max());
  for (const char* n : {R"("-3")", "-3", R"("")", R"("many")", R"("3.5")", "3.5", "true", "null",
                        R"("9223372036854775808")", "18446744073709551615"})
    EXPECT_EQ(count(n), std::nullopt) << n;
}

TEST(HloModule, EveryFormOfGroupsIsRead) {
  ProtoWriter old, iota, axes, mesh, axis, ref, iota_in_list, list;
  old.message(fields::kReplicaGroups, replica_group({0, 2}))
      .message(fields::kReplicaGroups, replica_group({1, 3}));
  iota.message(fields::kIotaCollectiveDeviceList, iota_groups(2, 2, {2, 2}, {1, 0}));
  axis.bytes(fields::kAxisName, "a").varint(fields::kAxisSize, 2);
  mesh.message(fields::kMeshAxes, axis).message(fields::kMeshAxes, axis);
  axes.message(fields::kMeshAxesReplicaGroupList,
               ProtoWriter()
                   .message(fields::kMesh, mesh)
                   .message(fields::kAxes, ref.varint(fields::kAxisIndex, 0)));
  iota_in_list.message(fields::kCollectiveDeviceList,
                       list.message(fields::kIotaGroups, iota_groups(2, 2, {2, 2}, {1, 0})));
  for (const ProtoWriter& form : {old, iota, axes, iota_in_list, grouped({{0, 2}, {1, 3}})}) {
    HloWriter w;
    w.add("all-to-all", array_shape({4}), {}, form);
    w.end("main");
    EXPECT_EQ(read_hlo_module(w.bytes()).computations[0].instructions[0].groups,
              (ReplicaGroups{{0, 2}, {1, 3}}));
  }
  HloWriter w;
  w.add("collective-permute", array_shape({4}), {}, source_target(1, 3));
  w.end("main");
  EXPECT_THAT(read_hlo_module(w.bytes()).computations[0].instructions[0].source_targets,
              ElementsAre(std::pair<int64_t, int64_t>(1, 3)));
}

TEST(HloModule, SizesCountBitsAndTuples) {
  const HloShape f32{.element_bits = 32, .dims = {3, 5}}, s4{.element_bits = 4, .dims = {3}};
  EXPECT_EQ(f32.num_bytes(), 60);
  EXPECT_EQ(s4.num_bytes(), 2);
  EXPECT_EQ((HloShape{.elements = {f32, s4, HloShape{}}}.num_bytes()), 62);
  EXPECT_THROW((HloShape{.element_bits = 32, .dims = {int64_t{1} << 62}}.num_bytes()), DataError);
}

TEST(HloModule, MistakesAreNamed) {
  const auto expect = [](const HloWriter& w, std::string_view message) {
    EXPECT_THAT([&] { read_hlo_module(w.bytes()); },
                ThrowsMessage<DataError>(HasSubstr(std::string(message))));
  };
  HloWriter later;
  later.add("add", array_shape({}), {101});
  later.parameter(array_shape({}));
  later.end("main");
  expect(later, "HLO instruction 'add.100': expected an operand before it, got id 101");
  HloWriter callee;
  callee.add("call", array_shape({}), {}, calls({10}));
  callee.end("main");
  expect(callee, "expected a computation before it, got id 10");
  HloWriter loop;
  loop.add("while", array_shape({}));
  loop.end("main");
  expect(loop, "expected body, condition and one operand, got 0 computations and 0 operands");
  EXPECT_THAT([] { read_hlo_module(""); },
              ThrowsMessage<DataError>(HasSubstr("expected an entry among 0 computations")));
  ProtoWriter deep = array_shape({});
  for (int i = 0; i < 100; ++i) deep = tuple_shape({deep});
  HloWriter nested;
  nested.add("tuple", deep);
  nested.end("main");
  expect(nested, "expected at most 64 nested tuples");
}

TEST(HloModule, DamagedBytesAreReadOrRefused) {
  const std::string good = program();
  int refused = 0;
  const auto try_read = [&](const std::string& bytes) {
    refused += error_of<DataError>([&] { read_hlo_module(bytes); }) != "no error";
  };
  for (size_t size = 0; size < good.size(); ++size) try_read(good.substr(0, size));
  EXPECT_GT(refused, static_cast<int>(good.size()) * 9 / 10);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string damaged = good;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    try_read(damaged);
  }
}

}  // namespace
}  // namespace axle
