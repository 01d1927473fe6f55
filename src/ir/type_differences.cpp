#include "ir/type_differences.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace axle {
namespace {

constexpr size_t kMax = 20;

std::string text_at(const Tree<Type>& types, const std::string& name) {
  const auto it = types.find(name);
  return it == types.end() ? "none" : to_text(it->second);
}

}  // namespace

std::string type_differences(const Tree<Type>& expected, const Tree<Type>& got) {
  Tree<Type> all = expected;
  all.insert(got.begin(), got.end());
  std::vector<std::string> lines;
  for (const auto& [name, type] : all) {
    const std::string want = text_at(expected, name), is = text_at(got, name);
    if (want != is) lines.push_back(fmt::format("{}: expected {}, got {}", name, want, is));
  }
  if (const size_t n = lines.size(); n > kMax) {
    lines.resize(kMax);
    lines.push_back(fmt::format("and {} more", n - kMax));
  }
  return join(lines, "; ");
}

}  // namespace axle
