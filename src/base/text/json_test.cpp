#include "base/text/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "testing/error_of.h"
#include "testing/lfs_pointer.h"
#include "testing/resource_limits.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

std::string error_in(std::string_view text, size_t max_bytes = kMaxJsonBytes) {
  return error_of<JsonError>([&] { read_json(text, max_bytes); });
}

TEST(Json, ReadsDocumentsUnchanged) {
  for (const std::string text : {"null", "true", "-3", "18446744073709551615", "1.5",
                                 "\"\xc3\xa9\"", "[]", "{}", R"({"b":[1,{"a":{}},[]],"a":"x"})"}) {
    EXPECT_EQ(read_json(text).dump(), text);
  }
  EXPECT_EQ(read_json(" [ 1 , 2 ] \n").dump(), "[1,2]");
}

TEST(Json, RecordsMayHaveNumbersAsPythonWritesThem) {
  EXPECT_EQ(
      read_record_json(R"({"a": NaN, "b": [-Infinity, Infinity, 1], "c": "NaN \" NaN"})").dump(),
      R"({"a":null,"b":[null,null,1],"c":"NaN \" NaN"})");
  const auto error = [](std::string_view text) {
    return error_of<JsonError>([&] { read_record_json(text); });
  };
  EXPECT_EQ(error(R"({"a": NaN, "b": nan})"), "byte 7: expected JSON, got a syntax error");
  EXPECT_EQ(error("[1,]"), "byte 4: expected JSON, got a syntax error");
}

TEST(Json, SyntaxErrorsNameTheirByte) {
  EXPECT_EQ(error_in(""), "byte 1: expected JSON, got a syntax error");
  EXPECT_EQ(error_in("[1,]"), "byte 4: expected JSON, got a syntax error");
  EXPECT_EQ(error_in("[1] x"), "byte 5: expected JSON, got a syntax error");
  EXPECT_EQ(error_in("[1e999]"), "byte 6: expected JSON, got a number that is too large");
  for (const std::string_view text : {"[", "{\"a\"", "nan", "[Infinity]", "'a'", "\"\xff\"",
                                      "\"\\ud800\"", "\"\x01\"", "01", "+1", "[1]]", "// x\n1"}) {
    EXPECT_THAT(error_in(text), HasSubstr("expected JSON, got a syntax error")) << text;
  }
}

TEST(Json, AnotherFormatIsNamed) {
  EXPECT_EQ(error_in(kLfsPointer), fmt::format("expected JSON, {}", kLfsPointerNamed));
  EXPECT_EQ(error_in("<!DOCTYPE html>\n<html>"),
            "expected JSON, got an HTML page; a download may have failed; fetch the file again");
  EXPECT_EQ(error_in("\x1f\x8b\x08"), "expected JSON, got gzip; decompress it first");
  // What begins as JSON is damaged JSON, for any use.
  EXPECT_EQ(error_in("{\"added_tokens\": [}"), "byte 19: expected JSON, got a syntax error");
}

TEST(Json, ADocumentThatTheHostHasNoRoomForIsNotRead) {
  std::string text = "[0";
  while (text.size() < size_t{8} << 20) text += ",0";
  text += "]";
  const LittleMemory little(64 << 20);
  EXPECT_THAT(error_of<Error>([&] { read_json(text); }),
              HasSubstr("a JSON document: expected 192.0 MiB of host memory for its "));
}

TEST(Json, DuplicateKeysAreRefused) {
  EXPECT_EQ(error_in(R"({"a":1,"b":2,"a":3})"), "expected every key once, got 'a' twice");
  EXPECT_EQ(error_in(R"({"files":[{},{"x":{"y":1,"y":2}}]})"),
            "files[1].x: expected every key once, got 'y' twice");
  EXPECT_EQ(error_in("{\"\\u001b\":1,\"\\u001b\":1}"),
            "expected every key once, got '\\x1b' twice");
  EXPECT_EQ(read_json(R"([{"a":1},{"a":1},{"a":{"a":1}}])").size(), 3u);
}

TEST(Json, DepthAndSizeAreLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(read_json(nested(64)).dump(), nested(64));
  EXPECT_EQ(error_in(nested(65)), "expected at most 64 nested objects and lists, got more");
  EXPECT_THAT(error_in(std::string(10'000'000, '[')), HasSubstr("at most 64"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(error_in(objects), HasSubstr("at most 64"));
  EXPECT_EQ(error_in("[1,2]", 4), "expected at most 4 bytes of JSON, got 5");
}

TEST(Json, ManyKeysTakeLinearTime) {  // quadratic time would be hours here
  std::string text = "{\"k0\":0";
  for (int i = 1; i < 300'000; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(read_json(text + "}").size(), 300'000u);
}

TEST(JsonView, ReadsFieldsOrNamesTheirPathInErrors) {
  const auto json =
      read_json(R"({"files":[{"name":"a","bytes":5},{"name":7}],"big":1e3,"s":["x"]})");
  const JsonView root(json);
  EXPECT_EQ(root.at("files").elements()[0].at("name").text(), "a");
  EXPECT_EQ(root.at("files").elements()[0].at("bytes").integer(0, 5), 5);
  EXPECT_EQ(root.at("s").texts(), std::vector<std::string>{"x"});
  EXPECT_FALSE(root.find("none"));
  EXPECT_EQ(root.members().size(), 3u);

  const auto error = [&](auto&& read) { return error_of<JsonError>([&] { read(root); }); };
  EXPECT_EQ(error([](auto& r) { r.at("none"); }),
            "expected the field 'none', got an object without it");
  EXPECT_EQ(error([](auto& r) { r.at("files").elements()[1].at("name").text(); }),
            "files[1].name: expected a text, got 7");
  EXPECT_EQ(error([](auto& r) { r.at("files").elements()[0].at("bytes").integer(0, 4); }),
            "files[0].bytes: expected an integer of 0 to 4, got 5");
  EXPECT_EQ(error([](auto& r) { r.at("big").integer(0, 5000); }),
            "big: expected an integer of 0 to 5000, got 1000.0");
  EXPECT_EQ(error([](auto& r) { r.at("files").at("x"); }),
            "files: expected an object, got a list of 2");
  EXPECT_EQ(error([](auto& r) { r.at("big").elements(); }), "big: expected a list, got 1000.0");
}

TEST(JsonView, NumbersBeyondTheRangeAreNotWrapped) {
  for (const char* text : {"18446744073709551615", "9223372036854775808", "-1", "\"1\"", "true",
                           "null", "1.0", "[]", "{}"}) {
    const auto json = read_json(text);
    EXPECT_THAT(error_of<JsonError>([&] { JsonView(json).integer(0, INT64_MAX); }),
                HasSubstr("expected an integer of 0 to 9223372036854775807, got "))
        << text;
  }
}

TEST(JsonAs, ThrowsTheErrorTypeOfTheCaller) {
  EXPECT_EQ(
      error_of<DataError>([] { json_as<DataError>("a.json", [] { return read_json("["); }); }),
      "a.json: byte 2: expected JSON, got a syntax error");
}

}  // namespace
}  // namespace axle
