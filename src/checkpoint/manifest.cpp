#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/lists.h"
#include "base/text/file_format.h"
#include "base/text/json.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "base/version.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = "{\n \"sha256\": \"";
const std::string kNoHash(64, '0');

// Returns the hash of the text with zeros in place of the hash.
std::string hash_of(std::string text) {
  text.replace(kHead.size(), kNoHash.size(), kNoHash);
  return sha256_hex(text);
}

Json file_json(const DataFile& file) {
  Json crcs = Json::array();
  for (const uint32_t crc : file.crc32c) crcs.push_back(fmt::format("{:08x}", crc));
  return {{"name", file.name}, {"bytes", file.bytes}, {"crc32c", std::move(crcs)}};
}

Json tensor_json(const StoredTensor& tensor) {
  return {{"dtype", name_of(tensor.type.dtype)},
          {"shape", tensor.type.dims},
          {"file", tensor.file},
          {"offset", tensor.offset}};
}

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The functions below throw JsonError or ConfigError; parse_manifest() adds the name of the file.

uint32_t parse_checksum(const JsonView& json) {
  const std::string& text = json.text();
  const char* const end = text.data() + text.size();
  uint32_t value = 0;
  if (text.size() != 8 || std::from_chars(text.data(), end, value, 16).ptr != end)
    json.fail("a checksum of 8 hexadecimal digits");
  return value;
}

DataFile parse_file(const JsonView& json, int64_t chunk_bytes) {
  DataFile file{.name = json.at("name").text(), .bytes = json.at("bytes").integer(0, kMax)};
  const bool is_name = !file.name.empty() && file.name != "." && file.name != ".." &&
                       file.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!is_name) json.at("name").fail("the name of a file in this folder");
  for (const JsonView& crc : json.at("crc32c").elements())
    file.crc32c.push_back(parse_checksum(crc));
  const int64_t num_chunks = file.bytes / chunk_bytes + (file.bytes % chunk_bytes != 0);
  if (std::ssize(file.crc32c) != num_chunks)
    json.at("crc32c").fail(counted(num_chunks, "checksum") + " for " + counted(file.bytes, "byte"));
  return file;
}

StoredTensor parse_tensor(const JsonView& json, const Manifest& manifest) {
  StoredTensor tensor;
  from_text(json.at("dtype").text(), tensor.type.dtype);
  for (const JsonView& dim : json.at("shape").elements())
    tensor.type.dims.push_back(dim.integer(0, kMax));
  if (manifest.files.empty()) json.fail("a data file for every tensor");
  tensor.file = static_cast<size_t>(json.at("file").integer(0, std::ssize(manifest.files) - 1));
  tensor.offset = json.at("offset").integer(0, kMax);
  const DataFile& file = manifest.files[tensor.file];
  const auto count = checked_product(tensor.type.dims);
  const auto bytes =
      count ? checked_product(*count, static_cast<int64_t>(size_bytes(tensor.type.dtype)))
            : std::nullopt;
  if (!bytes || *bytes > file.bytes || tensor.offset > file.bytes - *bytes)
    json.fail(fmt::format("a tensor within the {} of {}", counted(file.bytes, "byte"), file.name));
  return tensor;
}

// Throws if two tensors share a byte: one of them would hold numbers of the other.
void check_no_overlap(const Manifest& manifest, const JsonView& tensors) {
  struct Range {
    size_t file;
    int64_t begin, end;
    const std::string* path;
  };
  std::vector<Range> ranges;
  for (const auto& [path, tensor] : manifest.tensors) {
    const auto bytes = static_cast<int64_t>(tensor.type.num_bytes());
    if (bytes > 0) ranges.push_back({tensor.file, tensor.offset, tensor.offset + bytes, &path});
  }
  std::ranges::sort(ranges, {}, [](const Range& r) { return std::pair(r.file, r.begin); });
  for (size_t i = 1; i < ranges.size(); ++i) {
    const Range &before = ranges[i - 1], &range = ranges[i];
    if (range.file != before.file || range.begin >= before.end) continue;
    tensors.at(*range.path)
        .fail(fmt::format("a tensor that begins after the end of {} at {} of {}",
                          printable(*before.path), before.end, manifest.files[range.file].name));
  }
}

Manifest parse_body(std::string_view text) {
  const Json document = read_json(text, kMaxManifestBytes);
  const JsonView json(document);
  if (const int64_t version = json.at("version").integer(0, kMax); version != kManifestVersion) {
    throw UnknownVersionError(
        fmt::format("expected checkpoint version {}, got {}; written by axle {}", kManifestVersion,
                    version, printable(json.at("axle").text())));
  }
  Manifest manifest;
  manifest.step = json.at("step").integer(0, kMax);
  for (const auto& [name, value] : json.at("metadata").members())
    manifest.metadata.emplace(name, value.text());
  manifest.chunk_bytes = json.at("chunk_bytes").integer(1, 1 << 30);
  for (const JsonView& file : json.at("files").elements())
    manifest.files.push_back(parse_file(file, manifest.chunk_bytes));
  for (const auto& [path, tensor] : json.at("tensors").members())
    manifest.tensors.emplace(path, parse_tensor(tensor, manifest));
  check_no_overlap(manifest, json.at("tensors"));
  return manifest;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  Json files = Json::array(), tensors = Json::object();
  for (const DataFile& file : manifest.files) files.push_back(file_json(file));
  for (const auto& [path, tensor] : manifest.tensors) tensors[path] = tensor_json(tensor);
  const Json json = {{"sha256", kNoHash},
                     {"version", kManifestVersion},
                     {"axle", version()},
                     {"step", manifest.step},
                     {"metadata", manifest.metadata},
                     {"chunk_bytes", manifest.chunk_bytes},
                     {"files", std::move(files)},
                     {"tensors", std::move(tensors)}};
  // A metadata path that is not UTF-8 must not make a save fail.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  AXLE_CHECK(text.starts_with(kHead), "the hash must come first");
  text.replace(kHead.size(), kNoHash.size(), hash_of(text));
  return text;
}

Manifest parse_manifest(std::string_view text, const std::filesystem::path& path) {
  const size_t size = text.size();
  if (size < kHead.size() + kNoHash.size() || !text.starts_with(kHead)) {
    const std::string other =
        fmt::format("{} other {}", size, plural(static_cast<int64_t>(size), "byte"));
    throw StorageError(fmt::format("{}: offset 0: expected the manifest of a checkpoint, got {}",
                                   path.string(),
                                   text.starts_with(kHead) ? other : format_text(text, other)));
  }
  const std::string_view stored = text.substr(kHead.size(), kNoHash.size());
  if (const std::string actual = hash_of(std::string(text)); actual != stored) {
    throw StorageError(fmt::format("{}: offset 0: expected {} bytes with SHA-256 {}, got {}",
                                   path.string(), size, stored, actual));
  }
  const std::string where = path.string() + ": malformed";
  try {
    return json_as<StorageError>(where, [&] { return parse_body(text); });
  } catch (const UnknownVersionError& error) {
    throw UnknownVersionError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const ConfigError& error) {  // of an unknown dtype
    throw StorageError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace axle
