#include <gtest/gtest.h>

#include "hlo/collectives.h"

namespace axle {
namespace {

// Two nodes of four devices each.
const std::vector<int64_t> kTwoNodes = {0, 0, 0, 0, 1, 1, 1, 1};
const ReplicaGroups kWireBytesAll = {{0, 1, 2, 3, 4, 5, 6, 7}},
                    kNodes = {{0, 1, 2, 3}, {4, 5, 6, 7}},
                    kAcross = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};

TEST(WireBytes, AnAllReduceSendsTwiceWhatAGatherSends) {
  for (const char* kind : {"all-gather", "reduce-scatter"}) {
    EXPECT_EQ(wire_bytes(kind, 800, {{0, 1}}, {}), (WireBytes{.fast = 400})) << kind;
    EXPECT_EQ(wire_bytes(kind, 800, kWireBytesAll, {}), (WireBytes{.fast = 700})) << kind;
  }
  EXPECT_EQ(wire_bytes("all-reduce", 800, kWireBytesAll, {}), (WireBytes{.fast = 1400}));
}

TEST(WireBytes, GroupsWithinANodeUseTheFastNetworkAlone) {
  EXPECT_EQ(wire_bytes("all-gather", 800, kNodes, kTwoNodes), (WireBytes{.fast = 600}));
  EXPECT_EQ(wire_bytes("all-gather", 800, kAcross, kTwoNodes), (WireBytes{.slow = 400}));
}

// An all-gather of 800 B: each node receives the other node's half (400 B) once, a quarter of it
// through each of its four devices. Then all bytes are distributed within the node.
TEST(WireBytes, GroupsOverNodesShareTheSlowNetwork) {
  EXPECT_EQ(wire_bytes("all-gather", 800, kWireBytesAll, kTwoNodes),
            (WireBytes{.fast = 600, .slow = 100}));
  EXPECT_EQ(wire_bytes("all-reduce", 800, kWireBytesAll, kTwoNodes),
            (WireBytes{.fast = 1200, .slow = 200}));
  EXPECT_EQ(wire_bytes("all-to-all", 800, kWireBytesAll, kTwoNodes),
            (WireBytes{.fast = 300, .slow = 400}));
}

TEST(WireBytes, PermutesUseTheNetworkBetweenTheirDevices) {
  EXPECT_EQ(wire_bytes(100, SourceTargets{{0, 1}, {1, 0}}, kTwoNodes), (WireBytes{.fast = 100}));
  EXPECT_EQ(wire_bytes(100, SourceTargets{{3, 4}, {0, 1}}, kTwoNodes),
            (WireBytes{.fast = 100, .slow = 100}));
  EXPECT_EQ(wire_bytes(100, SourceTargets{{3, 3}}, kTwoNodes), WireBytes{});
}

TEST(WireBytes, SingleDevicesSendNoBytes) {
  EXPECT_EQ(wire_bytes("all-reduce", 800, {{0}, {1}}, {}), WireBytes{});
  EXPECT_EQ(wire_bytes("all-reduce", 800, {}, {}), WireBytes{});
}

}  // namespace
}  // namespace axle
