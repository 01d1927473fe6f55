#include "ir/dtype.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(DTypeText, ReadsBackWhatItWrites) {
  for (auto i = static_cast<int>(DType::kPred); i <= static_cast<int>(DType::kC128); ++i) {
    const auto dtype = static_cast<DType>(i);
    DType back{};
    from_text(to_text(dtype), back);
    EXPECT_EQ(back, dtype);
  }
  DType back{};
  EXPECT_EQ(error_of<ConfigError>([&] { from_text("half", back); }),
            "expected pred, i4, i8, i16, i32, i64, u4, u8, u16, u32, u64, f8e4m3fn, f8e5m2, f16, "
            "bf16, f32, f64, c64 or c128, got 'half'");
}

template <class T>
void expect_order_and_kinds() {
  constexpr DType kDType = dtype_of<T>();
  EXPECT_EQ(size_bytes(kDType), sizeof(T)) << name_of(kDType);
  using C = Computed<T>;
  constexpr bool kIsBool = std::is_same_v<T, bool>;
  EXPECT_EQ(is_float(kDType), (std::is_floating_point_v<C>)) << name_of(kDType);
  EXPECT_EQ(is_integer(kDType), std::is_integral_v<C> && !kIsBool) << name_of(kDType);
  EXPECT_EQ(is_unsigned(kDType), std::is_unsigned_v<C> && !kIsBool) << name_of(kDType);
  EXPECT_EQ(is_complex(kDType), kIsComplex<T>) << name_of(kDType);
}

TEST(DTypes, AreOfTheKindOfTheirTypes) {
  for (auto i = static_cast<int>(DType::kPred); i <= static_cast<int>(DType::kC128); ++i) {
    dispatch_any(static_cast<DType>(i), [&]<class T>(std::type_identity<T>) {
      EXPECT_EQ(dtype_of<T>(), static_cast<DType>(i));
      expect_order_and_kinds<T>();
    });
  }
}

TEST(ConvertElement, FourBitIntegersWrapOrSaturate) {
  EXPECT_EQ(convert_element<I4>(9).value, -7);
  EXPECT_EQ(convert_element<U4>(-1).value, 15);
  EXPECT_EQ(convert_element<I4>(-100.0f).value, -8);
  EXPECT_EQ(convert_element<U4>(100.0).value, 15);
  EXPECT_EQ(convert_element<int>(I4(-3)), -3);
  EXPECT_EQ(convert_element<double>(U4(13)), 13);
}

TEST(ConvertElement, ComplexNumbersHaveRealParts) {
  EXPECT_EQ(convert_element<std::complex<float>>(3), std::complex<float>(3, 0));
  EXPECT_EQ(convert_element<int>(std::complex<double>(3.7, 5)), 3);
}

TEST(DTypeText, FloatDtypesExcludeOtherDtypes) {
  FloatDType dtype;
  from_text("bf16", dtype);
  EXPECT_EQ(DType{dtype}, DType::kBF16);
  for (const char* text : {"i32", "u64", "pred", "f16", "f8e5m2", "c64"}) {
    EXPECT_EQ(error_of<ConfigError>([&] { from_text(text, dtype); }),
              std::string("expected bf16, f32 or f64, got '") + text + "'");
  }
}

}  // namespace
}  // namespace axle
