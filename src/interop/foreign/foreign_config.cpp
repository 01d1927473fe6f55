#include "interop/foreign/foreign_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostShown = 200;  // bytes of a field in a message
constexpr int64_t kLargestSize = (int64_t{1} << 31) - 1;

// Returns the first names with what stands between them, and how many others there are.
std::string some_of(std::span<const std::string> names, std::string_view between) {
  constexpr size_t kMost = 20;
  std::string out = join(names.first(std::min(names.size(), kMost)), between);
  if (names.size() > kMost) out += fmt::format(" and {} others", names.size() - kMost);
  return out;
}

bool says_nothing(const Json& value) {
  return value.is_null() || value == false || value == "" || value == Json::array() ||
         value == Json::object();
}

// None for other numbers, and for what is no number.
std::optional<int64_t> whole_number_of(const Json& value) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value > kLargestSize)) return {};
  const auto out = value.get<int64_t>();
  return out >= 0 && out <= kLargestSize ? std::optional(out) : std::nullopt;
}

}  // namespace

struct ForeignConfig::Document {
  Json fields;
  std::string where;
  std::set<std::string, std::less<>> read;
  int64_t num_tensors = kLargestSize;
};

ForeignConfig::ForeignConfig(Json fields, std::string where)
    : document_(std::make_shared<Document>(
          Document{.fields = std::move(fields), .where = std::move(where), .read = {}})),
      fields_(&document_->fields) {
  if (!fields_->is_object())
    throw DataError(fmt::format("{}: expected an object with the fields of a model, got {}",
                                document_->where, fields_->type_name()));
}

ForeignConfig::ForeignConfig(std::shared_ptr<Document> document, const Json& fields,
                             std::string prefix)
    : document_(std::move(document)), fields_(&fields), prefix_(std::move(prefix)) {}

ForeignConfig ForeignConfig::with(const std::string& key, Json value) const {
  AXLE_CHECK(prefix_.empty(), "the fields of a whole config");
  auto document = std::make_shared<Document>(*document_);
  const Json& fields = document->fields;
  document->fields[key] = std::move(value);
  return {std::move(document), fields, ""};
}

const std::string& ForeignConfig::where() const { return document_->where; }

const Json* ForeignConfig::find(std::string_view key) const {
  document_->read.insert(prefix_ + std::string(key));
  const auto found = fields_->find(key);
  return found == fields_->end() || found->is_null() ? nullptr : &*found;
}

void ForeignConfig::fail(std::string_view key, std::string_view expected) const {
  const Json* const value = find(key);
  throw DataError(fmt::format("{}: {}{}: expected {}, got {}", where(), prefix_, key, expected,
                              value ? printable(value->dump(), kMostShown) : "none"));
}

std::optional<int64_t> ForeignConfig::optional_size(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  const auto out = whole_number_of(*value);
  if (!out || *out == 0) fail(key, fmt::format("an integer from 1 to {}", kLargestSize));
  return out;
}

std::optional<int64_t> ForeignConfig::optional_size(std::string_view key,
                                                    std::optional<int64_t> fallback) const {
  const auto value = optional_size(key);
  return mentions(key) ? value : fallback;
}

int64_t ForeignConfig::size(std::string_view key) const {
  if (const auto value = optional_size(key)) return *value;
  fail(key, "an integer");
}

int64_t ForeignConfig::size(std::string_view key, int64_t fallback) const {
  return optional_size(key).value_or(fallback);
}

int64_t ForeignConfig::count(std::string_view key) const {
  const int64_t out = size(key), most = document_->num_tensors;
  if (out > most) fail(key, fmt::format("at most {}, the tensors that there are", most));
  return out;
}

int64_t ForeignConfig::count(std::string_view key, int64_t fallback) const {
  return optional_size(key) ? count(key) : fallback;
}

void ForeignConfig::bound_counts(int64_t num_tensors) const {
  document_->num_tensors = num_tensors;
}

int64_t ForeignConfig::whole_number(std::string_view key, int64_t fallback) const {
  const Json* const value = find(key);
  if (!value) return fallback;
  const auto out = whole_number_of(*value);
  if (!out) fail(key, fmt::format("an integer from 0 to {}", kLargestSize));
  return *out;
}

std::vector<int64_t> ForeignConfig::whole_numbers(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  const auto is_whole = [](const Json& element) { return whole_number_of(element).has_value(); };
  if (!value->is_array() || !std::ranges::all_of(*value, is_whole))
    fail(key, fmt::format("a list of integers from 0 to {}", kLargestSize));
  return value->get<std::vector<int64_t>>();
}

std::optional<double> ForeignConfig::optional_number(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  if (!value->is_number() || !std::isfinite(value->get<double>())) fail(key, "a finite number");
  return value->get<double>();
}

double ForeignConfig::number(std::string_view key, double fallback) const {
  return optional_number(key).value_or(fallback);
}

bool ForeignConfig::flag(std::string_view key, bool fallback) const {
  const Json* const value = find(key);
  if (value && !value->is_boolean()) fail(key, "true or false");
  return value ? value->get<bool>() : fallback;
}

std::string ForeignConfig::text(std::string_view key, std::string_view fallback) const {
  const Json* const value = find(key);
  if (value && !value->is_string()) fail(key, "a text");
  return value ? value->get<std::string>() : std::string(fallback);
}

std::vector<std::string> ForeignConfig::texts(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  const auto is_text = [](const Json& element) { return element.is_string(); };
  if (!value->is_array() || !std::ranges::all_of(*value, is_text)) fail(key, "a list of texts");
  return value->get<std::vector<std::string>>();
}

std::vector<double> ForeignConfig::numbers(std::string_view key) const {
  const Json* const value = find(key);
  const auto is_finite = [](const Json& element) {
    return element.is_number() && std::isfinite(element.get<double>());
  };
  if (!value || !value->is_array() || !std::ranges::all_of(*value, is_finite))
    fail(key, "a list of finite numbers");
  return value->get<std::vector<double>>();
}

std::vector<int64_t> ForeignConfig::token_ids(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  std::vector<int64_t> out;
  for (const Json& one : value->is_array() ? *value : Json::array({*value})) {
    if (!one.is_number_integer()) return {};
    out.push_back(one.get<int64_t>());
  }
  return out;
}

std::optional<ForeignConfig> ForeignConfig::group(std::string_view key) const {
  const Json* const value = find(key);
  if (!value) return {};
  if (!value->is_object()) fail(key, "an object");
  return ForeignConfig(document_, *value, prefix_ + std::string(key) + ".");
}

void ForeignConfig::expect(std::string_view key, const Json& value) const {
  const Json* const own = find(key);
  if (own && *own != value) fail(key, value.dump());
}

void ForeignConfig::ignore(const std::vector<std::string_view>& keys) const {
  for (const std::string_view key : keys) document_->read.insert(prefix_ + std::string(key));
}

void ForeignConfig::check_all_read(const std::vector<std::string>& ignored) const {
  std::vector<std::string> unknown;
  const auto visit = [&](const auto& self, const Json& object, const std::string& prefix) -> void {
    for (const auto& [key, value] : object.items()) {
      const std::string path = prefix + key;
      if (std::ranges::count(ignored, path) > 0 || says_nothing(value)) continue;
      const auto below = document_->read.lower_bound(path + ".");
      const bool is_group = below != document_->read.end() && below->starts_with(path + ".");
      if (is_group && value.is_object())
        self(self, value, path + ".");
      else if (!document_->read.contains(path))
        unknown.push_back(printable(path));
    }
  };
  visit(visit, document_->fields, "");
  if (unknown.empty()) return;
  throw ConfigError(
      fmt::format("{}: expected fields that Axle knows, got {}; if they do not change what the "
                  "model computes, give --ignore {}",
                  where(), some_of(unknown, ", "), some_of(unknown, " --ignore ")));
}

}  // namespace axle
