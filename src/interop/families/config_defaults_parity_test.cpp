// What stands for fields that a config.json lacks: what transformers takes, field by field.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "interop/families/family.h"
#include "interop/forms/plain_model.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/test_name.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

const Json& all_families() {
  static const Json families =
      Json::parse(read_file(reference_file("hugging_face_defaults.json"))).at("families");
  return families;
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, family] : all_families().items()) out.push_back(name);
  return out;
}

class ConfigDefaults : public ::testing::TestWithParam<std::string> {
 protected:
  // None for a config that is refused.
  std::optional<PlainModel> model_of(Json fields) const {
    fields["model_type"] = GetParam();
    try {
      const ForeignConfig config(std::move(fields), "config.json");
      return plain_model(family_of(config).model(config));
    } catch (const DataError&) {
      return std::nullopt;
    }
  }
  // Expects both to be one model, or both to be refused.
  void expect_same(const std::optional<PlainModel>& own, const std::optional<PlainModel>& theirs) {
    ASSERT_EQ(own.has_value(), theirs.has_value());
    if (!own) return;
    const auto found = differences(*own, *theirs);
    EXPECT_TRUE(found.empty()) << found.front().path << ": ours " << found.front().first
                               << ", theirs " << found.front().second;
    EXPECT_EQ(own->decoder.max_seq_len, theirs->decoder.max_seq_len);
  }
};

TEST_P(ConfigDefaults, MatchTheConfigClass) {
  const Json& family = all_families().at(GetParam());
  const auto whole = model_of(family.at("fields"));
  ASSERT_TRUE(whole);
  expect_same(whole, model_of(family.at("resolved")));
  int num_defaults = 0;
  for (const auto& [key, changes] : family.at("without").items()) {
    SCOPED_TRACE(key);
    Json fields = family.at("fields"), resolved = family.at("resolved");
    fields.erase(key);
    resolved.update(changes);
    const auto own = model_of(fields);
    if (!own) continue;  // a field that has to be there
    ++num_defaults;
    expect_same(own, model_of(resolved));
  }
  EXPECT_GT(num_defaults, 2);
}

// What transformers refuses needs no default, and what is required here has none.
TEST_P(ConfigDefaults, AllFieldsExceptSizesHaveOne) {
  const Json& fields = all_families().at(GetParam()).at("fields");
  for (const auto& [key, value] : fields.items()) {
    Json rest = fields;
    rest.erase(key);
    const bool is_size = value.is_number_integer();
    EXPECT_TRUE(is_size || model_of(rest)) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ConfigDefaults, ::testing::ValuesIn(names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace axle
