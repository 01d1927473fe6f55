// Plain numbers in GGUF tensors: "blocks" of one value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace axle {

void f32_values(const std::byte* numbers, int64_t n, float* values);
void f16_values(const std::byte* numbers, int64_t n, float* values);
void bf16_values(const std::byte* numbers, int64_t n, float* values);
void f64_values(const std::byte* numbers, int64_t n, float* values);
void i8_values(const std::byte* numbers, int64_t n, float* values);
void i16_values(const std::byte* numbers, int64_t n, float* values);
void i32_values(const std::byte* numbers, int64_t n, float* values);
void i64_values(const std::byte* numbers, int64_t n, float* values);

/// Round to the nearest number, ties to even.
void f32_numbers(const float* values, int64_t n, std::byte* numbers);
void f16_numbers(const float* values, int64_t n, std::byte* numbers);
void bf16_numbers(const float* values, int64_t n, std::byte* numbers);

}  // namespace axle
