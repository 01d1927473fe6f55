// Real models: metadata and dequantised values are those that the Python package gguf reads
// (tools/oracle/gguf_numbers.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text/json.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"
#include "testing/checkout.h"
#include "testing/foreign_data.h"

namespace axle {
namespace {

class GgufForeign : public ForeignDataTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static nlohmann::ordered_json expected() {
    const std::string name = std::filesystem::path(GetParam()).filename();
    return read_json(read_file(reference_file("gguf/foreign.json"))).at(name);
  }
  static std::string digest(std::string_view bytes) { return sha256_hex(bytes).substr(0, 16); }
  // The bytes of a value's numbers and texts, without the lengths.
  static std::string bytes_of(const GgufValue& value) {
    if (value.type() != GgufType::kArray || value.element_type() != GgufType::kText)
      return value.bytes();
    std::string out;
    for (const std::string& text : value.texts()) out += text;
    return out;
  }
};

TEST_P(GgufForeign, MetadataMatchThePackage) {
  AXLE_NEEDS_FILES(GetParam());
  const GgufFile gguf(file(GetParam()));
  const auto keys = expected().at("keys");
  EXPECT_EQ(gguf.metadata().entries().size(), keys.size());
  for (const auto& [key, row] : keys.items())
    EXPECT_EQ(digest(bytes_of(gguf.metadata().at(key).value())), row.at("sha")) << key;
}

TEST_P(GgufForeign, EachTensorHasTheValuesOfThePackage) {
  AXLE_NEEDS_FILES(GetParam());
  const GgufFile gguf(file(GetParam()));
  const auto tensors = expected().at("tensors");
  EXPECT_EQ(gguf.names().size(), tensors.size());
  for (const auto& [name, row] : tensors.items()) {
    ASSERT_EQ(gguf.tensor(name).type->name, row.at(0).get<std::string>()) << name;
    ASSERT_EQ(gguf.tensor(name).shape, row.at(1).get<Shape>()) << name;
    const HostTensor values = gguf.get(name);
    ASSERT_EQ(values.dtype(), DType::kF32) << name;
    const std::span<const std::byte> bytes = values.bytes();
    ASSERT_EQ(digest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), row.at(2))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GgufForeign,
                         ::testing::Values("gguf/smollm2-135m-instruct-q4_1.gguf",
                                           "gguf/gemma-3-270m-q4_k_m.gguf"),
                         [](const auto& at) { return at.index == 0 ? "SmolLM2" : "Gemma3"; });

}  // namespace
}  // namespace axle
