#include "ir/dtype.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(DTypeText, ReadsBackWhatItWrites) {
  for (const DType dtype : {DType::kPred, DType::kI32, DType::kU64, DType::kBF16, DType::kF64}) {
    DType back{};
    from_text(to_text(dtype), back);
    EXPECT_EQ(back, dtype);
  }
  DType back{};
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("f16", back); }),
            "expected pred, i32, i64, u32, u64, bf16, f32 or f64, got 'f16'");
}

TEST(DTypeText, OfAFloatNamesNoInteger) {
  FloatDType dtype;
  from_text("bf16", dtype);
  EXPECT_EQ(DType{dtype}, DType::kBF16);
  for (const char* text : {"i32", "u64", "pred", "f16"}) {
    EXPECT_EQ(error_of<ConfigError>([&] { from_text(text, dtype); }),
              std::string("expected bf16, f32 or f64, got '") + text + "'");
  }
}

}  // namespace
}  // namespace axle
