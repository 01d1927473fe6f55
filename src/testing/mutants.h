// Damaged copies of files. A reader must answer each with an error of its own or with a result, and
// with nothing else. The copies are the same in every run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace axle {

namespace detail {

inline std::string number_bytes(std::mt19937& random, size_t size) {
  constexpr int64_t kExtremes[] = {
      0, 1, -1, 127, 128, 255, 256, INT32_MAX, INT32_MIN, int64_t{1} << 40, INT64_MAX, INT64_MIN};
  const int64_t value = kExtremes[random() % std::size(kExtremes)];
  std::string out(size, '\0');
  std::memcpy(out.data(), &value, size);
  return out;
}

}  // namespace detail

/// Returns a copy with one damage: truncated, a bit flipped, bytes overwritten at random, a number
/// of 4 or 8 bytes made extreme, a slice removed or doubled.
inline std::string mutant(std::string_view bytes, std::mt19937& random) {
  std::string out(bytes);
  if (out.empty()) return out;
  const size_t at = random() % out.size();
  const size_t left = out.size() - at;
  const size_t some = std::min<size_t>(left, 1 + random() % 32);
  switch (random() % 7) {
    case 0:
      out.resize(at);
      break;
    case 1:
      out[at] ^= static_cast<char>(1u << (random() % 8));
      break;
    case 2:
      for (size_t i = 0; i < some; ++i) out[at + i] = static_cast<char>(random());
      break;
    case 3:
      out.replace(at, std::min<size_t>(left, 4), detail::number_bytes(random, 4));
      break;
    case 4:
      out.replace(at, std::min<size_t>(left, 8), detail::number_bytes(random, 8));
      break;
    case 5:
      out.erase(at, some);
      break;
    default:
      out.insert(at, out.substr(at, some));
  }
  return out;
}

/// Returns `count` damaged copies. In half of them the damage is in the first `head` bytes, where
/// formats store their sizes.
inline std::vector<std::string> mutants(std::string_view bytes, int count, size_t head = 256) {
  std::mt19937 random(10);
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    const size_t part = i % 2 == 0 ? bytes.size() : std::min(head, bytes.size());
    out.push_back(mutant(bytes.substr(0, part), random) += bytes.substr(part));
  }
  return out;
}

/// A JSON document in which one value was changed or erased, and a description of the change.
struct JsonMutant {
  std::string what;
  std::string text;
};

/// Returns, for every value of the document, a copy with each of the extremes instead of it, and a
/// copy without it.
inline std::vector<JsonMutant> json_mutants(
    const nlohmann::ordered_json& document,
    const std::function<std::string(const nlohmann::ordered_json&)>& text_of =
        [](const auto& json) { return json.dump(1); }) {
  using Json = nlohmann::ordered_json;
  const Json extremes[] = {nullptr,
                           true,
                           -1,
                           0,
                           1,
                           1.5,
                           1e308,
                           int64_t{1} << 31,
                           std::numeric_limits<int64_t>::max(),
                           std::numeric_limits<int64_t>::min(),
                           uint64_t{1} << 63,
                           std::numeric_limits<uint64_t>::max(),
                           "",
                           "x",
                           "../../x",
                           std::string("\0", 1),
                           "-9223372036854775809",
                           std::string(5000, 'y'),
                           Json::array(),
                           Json::object(),
                           Json::array({1, "2", nullptr}),
                           Json::object({{"x", 1}})};
  std::vector<JsonMutant> out;
  const Json flat = document.flatten();
  std::vector<std::string> places;
  for (const auto& [place, value] : flat.items()) {
    for (std::string at = place; !at.empty(); at = at.substr(0, at.rfind('/'))) {
      if (std::ranges::find(places, at) == places.end()) places.push_back(at);
    }
  }
  for (const std::string& place : places) {
    const Json::json_pointer pointer(place);
    for (const Json& extreme : extremes) {
      Json changed = document;
      changed[pointer] = extreme;
      out.push_back({place + " = " + extreme.dump().substr(0, 30), text_of(changed)});
    }
    Json without = document;
    Json& parent = without[pointer.parent_pointer()];
    if (parent.is_array())
      parent.erase(std::stoul(pointer.back()));
    else
      parent.erase(pointer.back());
    out.push_back({place + " erased", text_of(without)});
  }
  return out;
}

/// Expects that read() ends normally, or with an Axle error of one of these codes and a message of
/// one line. Returns true if it threw an error.
template <class Fn>
bool ends_well(Fn&& read, std::initializer_list<ExitCode> codes, const std::string& what) {
  try {
    read();
    return false;
  } catch (const Error& error) {
    EXPECT_TRUE(std::ranges::count(codes, error.code()) > 0)
        << what << ": exit code " << static_cast<int>(error.code()) << ": " << error.what();
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos)
        << what << ": " << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": no error of Axle's: " << error.what();
  }
  return true;
}

}  // namespace axle
