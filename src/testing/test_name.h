// Names of tests that take a parameter.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace axle {

/// Returns the text with "_" for every character other than letters and digits.
inline std::string test_name(std::string text) {
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}
/// For INSTANTIATE_TEST_SUITE_P over texts.
inline constexpr auto kNamedByText = [](const auto& info) { return test_name(info.param); };

}  // namespace axle
