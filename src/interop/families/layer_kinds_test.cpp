// How layers of several kinds are stacked, and that each has the rows of its kind at its index.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "interop/families/written_fields.h"
#include "interop/forms/plain_model.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/feed_forward/feed_forward.h"

namespace axle {
namespace {

// A layer that shows its kind by a width.
Child<Block> layer_of(int64_t kind) {
  return PreNorm::Config{.body = FeedForward::Config{.hidden_dim = FixedDim{.dim = kind + 1}}};
}
std::vector<WeightRow> rows_of(const std::string& kind) {
  return {{.ours = "decoder/emb/weight", .theirs = "emb"},
          {.ours = "decoder/layers/layer/w", .theirs = "{layer}." + kind}};
}

// Expects the tensor of each layer to be in the row of its index in the stack.
void expect_rows_at_places(const std::vector<size_t>& kinds) {
  const LayerKinds own(kinds);
  const Child<Block> stack = own.stack({layer_of(0), layer_of(1)});
  const std::vector<WeightRow> rows = own.rows({rows_of("k0"), rows_of("k1")});
  EXPECT_EQ(rows.front().ours, "decoder/emb/weight");
  const std::vector<UnstackedLayer> places = unstacked_layers(stack, "decoder/layers");
  ASSERT_EQ(places.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const UnstackedLayer& place = places[i];
    const auto* const body = place.layer.get_if<PreNorm>()->body.get_if<FeedForward>();
    EXPECT_EQ(body->hidden_dim(8), static_cast<int64_t>(kinds[i]) + 1);
    const auto row = std::ranges::find(rows, place.path + "/w", &WeightRow::ours);
    ASSERT_NE(row, rows.end()) << place.path;
    std::string name = row->theirs;
    const size_t at = name.find("{layer}");
    EXPECT_EQ(at != name.npos, place.path.find("/rest/") == place.path.npos) << place.path;
    if (at != name.npos) {
      name.replace(at, 7, std::to_string(row->first_layer + place.index * row->layer_stride));
    }
    EXPECT_EQ(name, fmt::format("{}.k{}", i, kinds[i]));
  }
}

TEST(LayerKinds, RowsFollowTheirLayers) {
  for (const std::vector<size_t>& kinds : std::vector<std::vector<size_t>>{{0},
                                                                           {1, 1, 1},
                                                                           {0, 1},
                                                                           {0, 0, 1, 1},
                                                                           {0, 1, 0, 1},
                                                                           {0, 1, 0, 1, 0},
                                                                           {0, 0, 1, 0, 0, 1, 0, 0},
                                                                           {0, 0, 0, 1, 0, 1}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(kinds, " ")));
    expect_rows_at_places(kinds);
  }
}

TEST(LayerKinds, TheProgramIsAsSmallAsTheKindsAllow) {
  const auto stack = [](std::vector<size_t> kinds) {
    return LayerKinds(std::move(kinds)).stack({layer_of(0), layer_of(1)});
  };
  EXPECT_EQ(stack({1, 1, 1}).get_if<Repeat>()->num_layers, 3);
  EXPECT_EQ(stack({0, 1, 0, 1, 0}).get_if<Pattern>()->pattern.size(), 2u);
  EXPECT_EQ(stack({0, 0, 0, 1, 1, 1}).get_if<Stacked>()->layers.size(), 2u);
}

}  // namespace
}  // namespace axle
