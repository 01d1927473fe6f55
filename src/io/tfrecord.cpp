#include "io/tfrecord.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/units.h"

namespace axle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "framing writes integers as they lie in memory");
constexpr size_t kHeaderBytes = 12;
constexpr size_t kFooterBytes = 4;

template <class T>
T load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string tfrecord_frame(std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + kHeaderBytes + kFooterBytes);
  append(out, static_cast<uint64_t>(payload.size()));
  append(out, masked_crc32c(out));
  out.append(payload);
  append(out, masked_crc32c(payload));
  return out;
}

std::optional<std::string_view> TfRecordReader::next() {
  const std::string_view rest = bytes_.substr(offset_);
  if (rest.empty()) return std::nullopt;
  const auto fail = [&](std::string_view what) {
    throw StorageError(
        fmt::format("{}: expected a whole record at offset {}, got {}", where_, offset_, what));
  };
  if (rest.size() < kHeaderBytes)
    fail(counted(static_cast<int64_t>(rest.size()), "byte") + " of its header");
  if (load<uint32_t>(rest, 8) != masked_crc32c(rest.substr(0, 8)))
    fail("a wrong checksum of its length");
  const auto length = load<uint64_t>(rest, 0);
  if (length > rest.size() - kHeaderBytes || rest.size() - kHeaderBytes - length < kFooterBytes) {
    fail(fmt::format("{} of its {} bytes", rest.size() - kHeaderBytes, length + kFooterBytes));
  }
  const std::string_view payload = rest.substr(kHeaderBytes, length);
  if (load<uint32_t>(rest, kHeaderBytes + length) != masked_crc32c(payload))
    fail("a wrong checksum of its bytes");
  offset_ += kHeaderBytes + length + kFooterBytes;
  return payload;
}

}  // namespace axle
