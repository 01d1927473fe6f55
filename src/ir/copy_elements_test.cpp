#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ir/host_tensor.h"

namespace axle {
namespace {

// Windows of all sizes around that of a block, at offsets that no vector is aligned to.
TEST(CopyElements, FillsAWindowAndNothingElse) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (const DType dtype : {DType::kU8, DType::kBF16, DType::kF32, DType::kF64}) {
    const size_t size = size_bytes(dtype);
    for (int round = 0; round < 300; ++round) {
      const bool transpose = round % 2 == 0;
      const int64_t rows = below(70), columns = below(70);
      const int64_t read = transpose ? rows : columns, num_read = transpose ? columns : rows;
      const MatrixWindow from{below(9), read + below(9)}, to{below(9), columns + below(9)};
      HostTensor source(Type{dtype, {from.offset + num_read * from.stride + 1}});
      for (std::byte& b : source.bytes()) b = static_cast<std::byte>(random());
      HostTensor target(Type{dtype, {to.offset + rows * to.stride + 5}});
      for (std::byte& b : target.bytes()) b = static_cast<std::byte>(random());
      HostTensor expected = target;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          const int64_t at = from.offset + (transpose ? c * from.stride + r : r * from.stride + c);
          std::memcpy(&expected.bytes()[size * (to.offset + r * to.stride + c)],
                      &source.bytes()[size * at], size);
        }
      }
      copy_elements(source, from, transpose, rows, columns, target, to);
      ASSERT_EQ(std::memcmp(target.bytes().data(), expected.bytes().data(), target.bytes().size()),
                0)
          << to_text(dtype) << " " << rows << " " << columns << " " << transpose;
    }
  }
}

// Enough elements for all cores.
TEST(CopyElements, TransposesALargeMatrix) {
  constexpr int64_t kRows = 700, kColumns = 500;
  HostTensor source(Type{DType::kU32, {kColumns, kRows}}),
      target(Type{DType::kU32, {kRows, kColumns}});
  for (uint32_t i = 0; uint32_t & v : source.values<uint32_t>()) v = i++;
  copy_elements(source, {0, kRows}, true, kRows, kColumns, target, {0, kColumns});
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c)
      ASSERT_EQ(target.values<uint32_t>()[r * kColumns + c], c * kRows + r);
  }
}

}  // namespace
}  // namespace axle
