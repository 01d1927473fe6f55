#include <gmock/gmock.h>

#include <sstream>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "testing/error_without_lines.h"
#include "testing/op_test.h"

namespace axle {
namespace {

// Rows and columns are in the order of DType; "-" where JAX refuses. Printed by
//   jax.config.update("jax_enable_x64", True)
//   for a in dtypes: for b in dtypes: print(jnp.promote_types(a, b))
std::istringstream jax_table() {
  return std::istringstream(
      "pred i4 i8 i16 i32 i64 u4 u8 u16 u32 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "i4 i4 - - - - - - - - - - - - - - - - - "
      "i8 - i8 i16 i32 i64 - i16 i32 i64 f64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "i16 - i16 i16 i32 i64 - i16 i32 i64 f64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "i32 - i32 i32 i32 i64 - i32 i32 i64 f64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "i64 - i64 i64 i64 i64 - i64 i64 i64 f64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "u4 - - - - - u4 - - - - - - - - - - - - "
      "u8 - i16 i16 i32 i64 - u8 u16 u32 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "u16 - i32 i32 i32 i64 - u16 u16 u32 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "u32 - i64 i64 i64 i64 - u32 u32 u32 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "u64 - f64 f64 f64 f64 - u64 u64 u64 u64 f8e4m3fn f8e5m2 f16 bf16 f32 f64 c64 c128 "
      "f8e4m3fn - f8e4m3fn f8e4m3fn f8e4m3fn f8e4m3fn - f8e4m3fn f8e4m3fn f8e4m3fn f8e4m3fn "
      "f8e4m3fn - - - - - - - "
      "f8e5m2 - f8e5m2 f8e5m2 f8e5m2 f8e5m2 - f8e5m2 f8e5m2 f8e5m2 f8e5m2 - f8e5m2 - - - - - - "
      "f16 - f16 f16 f16 f16 - f16 f16 f16 f16 - - f16 f32 f32 f64 c64 c128 "
      "bf16 - bf16 bf16 bf16 bf16 - bf16 bf16 bf16 bf16 - - f32 bf16 f32 f64 c64 c128 "
      "f32 - f32 f32 f32 f32 - f32 f32 f32 f32 - - f32 f32 f32 f64 c64 c128 "
      "f64 - f64 f64 f64 f64 - f64 f64 f64 f64 - - f64 f64 f64 f64 c128 c128 "
      "c64 - c64 c64 c64 c64 - c64 c64 c64 c64 - - c64 c64 c64 c128 c64 c128 "
      "c128 - c128 c128 c128 c128 - c128 c128 c128 c128 - - c128 c128 c128 c128 c128 c128 ");
}

TEST(Promote, AgreesWithJax) {
  std::istringstream table = jax_table();
  constexpr int kCount = static_cast<int>(DType::kC128) + 1;
  for (int a = 0; a < kCount; ++a) {
    for (int b = 0; b < kCount; ++b) {
      const auto from = static_cast<DType>(a), with = static_cast<DType>(b);
      std::string expected;
      table >> expected;
      const std::optional<DType> actual = promoted_dtype(from, with);
      EXPECT_EQ(actual ? name_of(*actual) : "-", expected)
          << name_of(from) << ", " << name_of(with);
    }
  }
  std::string rest;
  EXPECT_FALSE(table >> rest);
}

TEST(Promote, ConvertsBoth) {
  const auto y = testing::run_all(
      [](const Values& v) {
        const auto [a, b] = promote(v[0], v[1]);
        return Values{a, b};
      },
      {HostTensor({2}, {1, 2}).astype(DType::kU8), HostTensor({1}, {-3}).astype(DType::kI8)});
  EXPECT_EQ(y[0], HostTensor({2}, {int16_t{1}, int16_t{2}}));
  EXPECT_EQ(y[1], HostTensor({1}, {int16_t{-3}}));
}

TEST(Promote, SaysWhatHasNoCommonDtype) {
  EXPECT_THAT(
      error_without_lines<ShapeError>([] {
        testing::run([](const Values& v) { return promote(v[0], v[1]).first; },
                     {HostTensor::ones({}, DType::kF8E5M2), HostTensor::ones({})});
      }),
      ::testing::HasSubstr("promote: expected dtypes with a common one, got f8e5m2 and f32; "
                           "convert one with astype"));
}

}  // namespace
}  // namespace axle
