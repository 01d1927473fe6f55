#include "interop/gguf/gguf_keys.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace axle {
namespace {

constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;

int64_t size_in(const GgufView& view) { return view.integer(1, kLargestSize); }

// A float stands for the decimal number that is written with the fewest digits: 1e-6, and not
// 9.99999997e-7.
double number_in(const GgufView& view) {
  const double out = view.number();
  if (!std::isfinite(out)) view.fail("a finite number");
  if (view.value().type() != GgufType::kF32) return out;
  return std::strtod(fmt::format("{}", static_cast<float>(out)).c_str(), nullptr);
}

nlohmann::ordered_json json_of(const GgufValue& value) {
  if (value.type() == GgufType::kBool) return value.bytes()[0] != 0;
  return to_text(value);
}

}  // namespace

GgufKeys::GgufKeys(const GgufHeader& header, std::string where, ValuesOf values)
    : header_(&header),
      where_(std::move(where)),
      values_(std::move(values)),
      architecture_(metadata().at("general.architecture").text()) {}

const Shape& GgufKeys::shape(const std::string& tensor) const {
  const auto found = header_->tensors.find(tensor);
  if (found == header_->tensors.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where_, tensor));
  return found->second.shape;
}

std::string GgufKeys::key(std::string_view name) const {
  return architecture_ + "." + std::string(name);
}

std::optional<GgufView> GgufKeys::find(std::string_view name) const {
  const std::string whole = key(name);
  read_.insert(whole);
  return metadata().find(whole);
}

GgufView GgufKeys::at(std::string_view name) const {
  const std::string whole = key(name);
  read_.insert(whole);
  return metadata().at(whole);
}

int64_t GgufKeys::size(std::string_view name) const { return size_in(at(name)); }

int64_t GgufKeys::size(std::string_view name, int64_t fallback) const {
  const auto found = find(name);
  return found ? size_in(*found) : fallback;
}

std::optional<int64_t> GgufKeys::count(std::string_view name) const {
  const auto found = find(name);
  const int64_t out = found ? found->integer(0, kLargestSize) : 0;
  return out == 0 ? std::nullopt : std::optional(out);
}

double GgufKeys::number(std::string_view name) const { return number_in(at(name)); }

double GgufKeys::number(std::string_view name, double fallback) const {
  const auto found = find(name);
  return found ? number_in(*found) : fallback;
}

void GgufKeys::expect(std::string_view name, double value) const {
  const auto found = find(name);
  if (found && found->number() != value) found->fail(fmt::format("{}", value));
}

void GgufKeys::expect(std::string_view name, bool value) const {
  const auto found = find(name);
  if (found && found->boolean() != value) found->fail(value ? "true" : "false");
}

void GgufKeys::ignore(const std::vector<std::string_view>& names) const {
  for (const std::string_view name : names) read_.insert(key(name));
}

void GgufKeys::add_unread(nlohmann::ordered_json& fields) const {
  for (const auto& [key, value] : metadata().entries()) {
    if (key.starts_with(architecture_ + ".") && !read_.contains(key)) fields[key] = json_of(value);
  }
}

}  // namespace axle
