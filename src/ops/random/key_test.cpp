#include <type_traits>

#include "base/error.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "testing/error_of.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using random::Key;
using random::PrngImpl;
using ::testing::HasSubstr;

template <class T>
concept Drawable = requires(const T& key) {
  random::uniform(key, {2});
};
template <class T>
concept Splittable = requires(const T& key) {
  random::split(key);
};

TEST(Key, PlainTensorsAreNotKeys) {
  static_assert(Drawable<Key> && Splittable<Key>);
  static_assert(!Drawable<Tensor> && !Splittable<Tensor>);
  static_assert(!Drawable<HostTensor> && !Splittable<double>);
  static_assert(!std::is_convertible_v<Tensor, Key> && !std::is_convertible_v<Key, Tensor>);
}

TEST(Key, WrapChecksTheWords) {
  Region region;
  const TraceScope scope(region);
  EXPECT_THAT(error_of<ShapeError>([] { Key::wrap(zeros({2}), PrngImpl::kRbg); }),
              HasSubstr("expected u32[.., 4] for rbg, got f32[2]; give the words of a key of this "
                        "generator"));
  EXPECT_THAT(error_of<ShapeError>([] { Key::wrap(zeros({4}, DType::kU32)); }),
              HasSubstr("expected u32[.., 2] for threefry2x32, got u32[4]; give the words"));
  EXPECT_THROW(Key::wrap(scalar(0, DType::kU32)), ShapeError);
  EXPECT_THROW(Key::wrap(zeros({3, 2}, DType::kI32)), ShapeError);
}

TEST(Key, KnowsItsWordsItsGeneratorAndItsShape) {
  Region region;
  const TraceScope scope(region);
  EXPECT_FALSE(static_cast<bool>(Key()));
  const Tensor words = zeros({3, 5, 4}, DType::kU32);
  const Key keys = Key::wrap(words, PrngImpl::kUnsafeRbg);
  EXPECT_TRUE(static_cast<bool>(keys));
  EXPECT_EQ(keys.data().type(), words.type());
  EXPECT_EQ(keys.impl(), PrngImpl::kUnsafeRbg);
  EXPECT_EQ(keys.shape(), Shape({3, 5}));
}

TEST(Key, ChildrenHaveTheGeneratorOfTheirParent) {
  Region region;
  const TraceScope scope(region);
  for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg, PrngImpl::kUnsafeRbg}) {
    const Key key = random::random_key(3, impl);
    EXPECT_EQ(key.shape(), Shape());
    const Key array = random::split(key, 3);
    EXPECT_EQ(array.impl(), impl);
    EXPECT_EQ(array.shape(), Shape({3}));
    EXPECT_EQ(random::split_each(key)[1].impl(), impl);
    EXPECT_EQ(random::fold_in(key, 7).impl(), impl);
  }
}

TEST(Key, ArraysOfKeysCannotDraw) {
  Region region;
  const TraceScope scope(region);
  const Key keys = random::split(random::random_key(3), 3);
  EXPECT_THROW(random::uniform(keys, {2}), ShapeError);
  EXPECT_THROW(random::split(keys), ShapeError);
  EXPECT_THROW(random::fold_in(keys, 1), ShapeError);
}

TEST(Key, WordsOfAKeyFollowItsSeed) {
  for (const PrngImpl impl : {PrngImpl::kThreefry2x32, PrngImpl::kRbg}) {
    EXPECT_EQ(testing::run([&](const Values&) { return random::random_key(-5, impl).data(); }, {}),
              random::key_words(-5, impl));
  }
}

}  // namespace
}  // namespace axle
