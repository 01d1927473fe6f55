#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/version.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = "{\n \"sha256\": \"";
const std::string kNoHash(64, '0');

// Hash of the text with zeros in the place of the hash.
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

// Throws std::runtime_error (nlohmann's or ours); parse_manifest names the file.
[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

DataFile parse_file(const Json& json, int64_t chunk_bytes) {
  DataFile file{.name = json.at("name"), .bytes = json.at("bytes"), .crc32c = {}};
  if (file.name.empty() || file.name.find('/') != std::string::npos) {
    fail(fmt::format("expected the name of a file, got '{}'", file.name));
  }
  for (const Json& crc : json.at("crc32c")) {
    const auto& text = crc.get_ref<const std::string&>();
    const char* const end = text.data() + text.size();
    uint32_t value = 0;
    if (std::from_chars(text.data(), end, value, 16).ptr != end || text.size() != 8) {
      fail(fmt::format("expected a checksum of 8 digits, got '{}'", text));
    }
    file.crc32c.push_back(value);
  }
  const auto num_chunks = static_cast<int64_t>(file.crc32c.size());
  if (file.bytes < 0 || num_chunks != file.bytes / chunk_bytes + (file.bytes % chunk_bytes != 0)) {
    fail(fmt::format("{}: {} checksums do not fit {} bytes", file.name, num_chunks, file.bytes));
  }
  return file;
}

// Bytes of a tensor whose dims come from a file; -1 if they overflow or are negative.
int64_t checked_bytes(const Type& type) {
  auto bytes = static_cast<int64_t>(size_bytes(type.dtype));
  for (const int64_t dim : type.dims) {
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return -1;
  }
  return bytes;
}

StoredTensor parse_tensor(const std::string& path, const Json& json, const Manifest& manifest) {
  StoredTensor tensor;
  from_text(json.at("dtype").get_ref<const std::string&>(), tensor.type.dtype);
  tensor.type.dims = json.at("shape").get<Shape>();
  tensor.file = json.at("file");
  tensor.offset = json.at("offset");
  const int64_t bytes = checked_bytes(tensor.type);
  if (tensor.file >= manifest.files.size()) fail(fmt::format("{}: no such data file", path));
  const DataFile& file = manifest.files[tensor.file];
  if (bytes < 0 || tensor.offset < 0 || bytes > file.bytes || tensor.offset > file.bytes - bytes) {
    fail(fmt::format("{}: does not lie within {}", path, file.name));
  }
  return tensor;
}

Manifest parse_body(std::string_view text) {
  const Json json = Json::parse(text);
  if (const int64_t version = json.at("version"); version != kManifestVersion) {
    throw UnknownVersionError(
        fmt::format("expected checkpoint version {}, got {}; written by axle {}", kManifestVersion,
                    version, json.at("axle").get<std::string>()));
  }
  Manifest manifest;
  manifest.step = json.at("step");
  manifest.metadata = json.at("metadata").get<Tree<std::string>>();
  manifest.chunk_bytes = json.at("chunk_bytes");
  if (manifest.chunk_bytes <= 0 || manifest.chunk_bytes > (1 << 30)) {
    fail(fmt::format("impossible size of chunks: {}", manifest.chunk_bytes));
  }
  for (const Json& file : json.at("files")) {
    manifest.files.push_back(parse_file(file, manifest.chunk_bytes));
  }
  for (const auto& [path, tensor] : json.at("tensors").items()) {
    manifest.tensors.emplace(path, parse_tensor(path, tensor, manifest));
  }
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
  // A path in the metadata that is not UTF-8 must not make a save fail.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  AXLE_CHECK(text.starts_with(kHead), "the hash must come first");
  text.replace(kHead.size(), kNoHash.size(), hash_of(text));
  return text;
}

Manifest parse_manifest(std::string_view text, const std::filesystem::path& path) {
  const size_t size = text.size();
  if (size < kHead.size() + kNoHash.size() || !text.starts_with(kHead)) {
    throw StorageError(
        fmt::format("{}: offset 0: expected the manifest of a checkpoint, got {} other bytes",
                    path.string(), size));
  }
  const std::string_view stored = text.substr(kHead.size(), kNoHash.size());
  if (const std::string actual = hash_of(std::string(text)); actual != stored) {
    throw StorageError(fmt::format("{}: offset 0: expected {} bytes with SHA-256 {}, got {}",
                                   path.string(), size, stored, actual));
  }
  try {
    return parse_body(text);
  } catch (const UnknownVersionError& error) {
    throw UnknownVersionError(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const std::exception& error) {
    throw StorageError(fmt::format("{}: malformed: {}", path.string(), error.what()));
  }
}

}  // namespace axle
