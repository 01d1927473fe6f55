#include "io/gguf/plain_numbers.h"

#include <cstring>

#include "ir/dtype.h"

namespace axle {
namespace {

template <class T>
void to_values(const std::byte* numbers, int64_t n, float* values) {
  for (int64_t i = 0; i < n; ++i) {
    T number;
    std::memcpy(&number, numbers + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    values[i] = convert_element<float>(number);
  }
}

template <class T>
void to_numbers(const float* values, int64_t n, std::byte* numbers) {
  for (int64_t i = 0; i < n; ++i) {
    const T number = convert_element<T>(values[i]);
    std::memcpy(numbers + i * static_cast<int64_t>(sizeof(T)), &number, sizeof(T));
  }
}

}  // namespace

void f32_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<float>(numbers, n, values);
}
void f16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<F16>(numbers, n, values);
}
void bf16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<BF16>(numbers, n, values);
}
void f64_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<double>(numbers, n, values);
}
void i8_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int8_t>(numbers, n, values);
}
void i16_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int16_t>(numbers, n, values);
}
void i32_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int32_t>(numbers, n, values);
}
void i64_values(const std::byte* numbers, int64_t n, float* values) {
  to_values<int64_t>(numbers, n, values);
}

void f32_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<float>(values, n, numbers);
}
void f16_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<F16>(values, n, numbers);
}
void bf16_numbers(const float* values, int64_t n, std::byte* numbers) {
  to_numbers<BF16>(values, n, numbers);
}

}  // namespace axle
