#include "data/chat/same_messages.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace axle {
namespace {

using Json = nlohmann::ordered_json;
using Sorted = nlohmann::json;  // fields by their names

}  // namespace

bool are_same(const Json& message, const Json& other) { return Sorted(message) == Sorted(other); }

// By Knuth, Morris and Pratt, with two comparisons for a message at most on average.
bool have_among_them(const Json& messages, const Json& part) {
  if (part.empty()) return true;
  const std::vector<Sorted> sought(part.begin(), part.end());
  // The longest beginnings of the part that also end at a message of it, without being all of it.
  std::vector<size_t> borders(sought.size());
  const auto count_with = [&](const Sorted& message, size_t count) {
    while (count > 0 && sought[count] != message) count = borders[count - 1];
    return count + (sought[count] == message);
  };
  for (size_t i = 1; i < sought.size(); ++i) borders[i] = count_with(sought[i], borders[i - 1]);
  size_t count = 0;
  for (const Json& message : messages) {
    count = count_with(Sorted(message), count);
    if (count == sought.size()) return true;
  }
  return false;
}

}  // namespace axle
