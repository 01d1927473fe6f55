#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text/text.h"

namespace axle {
namespace {

const std::vector<std::string> kPaths = {"learner",
                                         "model",
                                         "model/decoder",
                                         "model/decoder/emb",
                                         "model/decoder/layers",
                                         "model/decoder/layers/layer0",
                                         "model/decoder/layers/layer0/attention",
                                         "model/decoder/layers/layer1",
                                         "model/decoder/layers/layer1/attention"};

std::string near(std::string_view path) { return suggest_path(path, kPaths); }

TEST(SuggestPath, FindsShortNames) {
  EXPECT_EQ(near("layer0"), "; did you mean 'model/decoder/layers/layer0'?");
  EXPECT_EQ(near("decoder/layer1"), "; did you mean 'model/decoder/layers/layer1'?");
  EXPECT_EQ(near("layer1/attention"), "; did you mean 'model/decoder/layers/layer1/attention'?");
  EXPECT_EQ(near("attention"),
            "; did you mean 'model/decoder/layers/layer0/attention' or "
            "'model/decoder/layers/layer1/attention'?");
  EXPECT_EQ(near("att"), near("attention"));
}

TEST(SuggestPath, MatchesPathsWithOtherNumbers) {
  EXPECT_EQ(near("layer7/attention"), near("attention"));
  EXPECT_EQ(near("layer[1]"),
            "; did you mean 'model/decoder/layers/layer0' or 'model/decoder/layers/layer1'?");
  const std::vector<std::string> loop = {"model/layers", "model/layers/layer"};
  EXPECT_EQ(suggest_path("layer0", loop), "; did you mean 'model/layers/layer'?");
}

TEST(SuggestPath, IgnoresCaseAndEmptySegments) {
  EXPECT_EQ(near("Model/Decoder/Emb"), "; did you mean 'model/decoder/emb'?");
  EXPECT_EQ(near("/decoder//emb/"), "; did you mean 'model/decoder/emb'?");
}

TEST(SuggestPath, ForgivesMistypedSegments) {
  EXPECT_EQ(near("model/decoder/layrs"), "; did you mean 'model/decoder/layers'?");
  EXPECT_EQ(near("modle/decodr/layers/layer1"), "; did you mean 'model/decoder/layers/layer1'?");
  // A segment that is no layer.
  EXPECT_EQ(near("decoder/layers/1/layer1"), "; did you mean 'model/decoder/layers/layer1'?");
}

TEST(SuggestPath, DistantPathsGetNoSuggestion) {
  for (const char* path : {"", "/", "something", "zzz/layer", "head"})
    EXPECT_EQ(near(path), "") << path;
  EXPECT_EQ(near(std::string(500, 'a')), "");
  EXPECT_EQ(suggest_path("layers", {}), "");
}

}  // namespace
}  // namespace axle
