#include "io/gguf/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "base/parallel.h"
#include "base/text/file_format.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr int kMaxNesting = 8;
// The fewest bytes of a key with its value, and of a tensor.
constexpr uint64_t kLeastKeyBytes = 8 + 4 + 1, kLeastTensorBytes = 8 + 4 + 4 + 8;

// Reads a header from its beginning to its end, never past the end of the file.
class Header {
 public:
  explicit Header(const FileReader& file)
      : file_(file), size_(static_cast<uint64_t>(file.size())) {}

  GgufHeader read() {
    GgufHeader out{.metadata = GgufMetadata(file_.path().string())};
    check_magic();
    out.version = version();
    const uint64_t num_tensors = count("tensors", kLeastTensorBytes),
                   num_keys = count("keys", kLeastKeyBytes);
    for (uint64_t i = 0; i < num_keys; ++i) {
      const uint64_t begin = at_;
      const std::string key = name("a key");
      if (out.metadata.contains(key))
        fail(begin, "keys that differ", fmt::format("'{}' twice", printable(key)));
      out.metadata.set(key, value(type("the type of a value"), 0));
    }
    std::vector<Place> places;
    for (uint64_t i = 0; i < num_tensors; ++i) {
      const uint64_t begin = at_;
      const std::string tensor_name = name("the name of a tensor");
      const auto [entry, is_new] = out.tensors.try_emplace(tensor_name, tensor(tensor_name));
      if (!is_new)
        fail(begin, "names that differ", fmt::format("'{}' twice", printable(tensor_name)));
      places.push_back({&*entry, begin});
    }
    place(places, gguf_alignment(out.metadata));
    return out;
  }

 private:
  struct Place {
    Tree<GgufTensor>::value_type* tensor;
    uint64_t info;  // where its entry begins
  };

  [[noreturn]] void fail(uint64_t offset, std::string_view expected, std::string_view got) const {
    throw DataError(fmt::format("{}: offset {}: expected {}, got {}", file_.path().string(), offset,
                                expected, got));
  }

  // Returns the next bytes, which are valid until the next call.
  std::string_view take(uint64_t n, std::string_view what) {
    if (n > size_ - at_) {
      fail(at_, what,
           fmt::format("{} left of the file; it may be cut off",
                       counted(static_cast<int64_t>(size_ - at_), "byte")));
    }
    if (n > kMaxHeaderBytes || at_ + n > kMaxHeaderBytes)
      fail(at_, fmt::format("a header of at most {} bytes", kMaxHeaderBytes), "a longer one");
    if (at_ + n > begin_ + window_.size()) {
      constexpr uint64_t kPieceBytes = uint64_t{1} << 16;
      window_.resize(std::min(std::max(n, kPieceBytes), size_ - at_));
      begin_ = at_;
      file_.read_at(static_cast<int64_t>(at_), std::as_writable_bytes(std::span(window_)));
    }
    const std::string_view out = std::string_view(window_).substr(at_ - begin_, n);
    at_ += n;
    return out;
  }

  template <class T>
  T number(std::string_view what) {
    T out;
    std::memcpy(&out, take(sizeof(T), what).data(), sizeof(T));
    return out;
  }

  // Reads a number of things that take at least `least_bytes` each.
  uint64_t count(std::string_view things, uint64_t least_bytes) {
    const uint64_t begin = at_;
    const auto out = number<uint64_t>(fmt::format("the number of {}", things));
    if (out > (size_ - at_) / least_bytes) {
      fail(
          begin,
          fmt::format("at most {} {} in the rest of the file", (size_ - at_) / least_bytes, things),
          fmt::format("{}; it may be cut off", out));
    }
    return out;
  }

  std::string text(std::string_view what) {
    const uint64_t begin = at_;
    const auto length = number<uint64_t>(what);
    if (length > size_ - at_) {
      fail(
          begin,
          fmt::format("{} of at most {}", what, counted(static_cast<int64_t>(size_ - at_), "byte")),
          fmt::format("a length of {}; the file may be cut off", length));
    }
    return std::string(take(length, what));
  }

  std::string name(std::string_view what) {
    const uint64_t begin = at_;
    std::string out = text(what);
    if (out.empty() || find_invalid_utf8(out))
      fail(begin, fmt::format("{} in UTF-8", what), fmt::format("'{}'", printable(out)));
    return out;
  }

  GgufType type(std::string_view what) {
    const uint64_t begin = at_;
    const auto out = number<uint32_t>(what);
    if (out >= kNumGgufTypes)
      fail(begin, fmt::format("{}, 0 to {}", what, kNumGgufTypes - 1), std::to_string(out));
    return static_cast<GgufType>(out);
  }

  std::string numbers(GgufType type, uint64_t n) {
    const uint64_t begin = at_;
    std::string out(take(n * size_bytes(type), fmt::format("{} {}", n, name_of(type))));
    const size_t odd =
        type == GgufType::kBool ? out.find_first_not_of(std::string_view("\0\1", 2)) : out.npos;
    if (odd != out.npos) {
      fail(begin + odd, "a bool, 0 or 1",
           std::to_string(static_cast<int>(static_cast<uint8_t>(out[odd]))));
    }
    return out;
  }

  GgufValue value(GgufType type_of_value, int nesting) {
    if (type_of_value == GgufType::kText) return text("a text");
    if (type_of_value != GgufType::kArray)
      return GgufValue::of_bytes(type_of_value, numbers(type_of_value, 1));
    if (nesting == kMaxNesting)
      fail(at_, fmt::format("at most {} nested arrays", kMaxNesting), "more");
    const GgufType element = type("the type of an array's elements");
    constexpr uint64_t kTextBytes = 8, kArrayBytes = 4 + 8;
    const bool is_text = element == GgufType::kText, is_array = element == GgufType::kArray;
    const uint64_t n = count(fmt::format("{} in an array", name_of(element)),
                             is_text    ? kTextBytes
                             : is_array ? kArrayBytes
                                        : static_cast<uint64_t>(size_bytes(element)));
    if (is_text) {
      std::vector<std::string> out;
      reserve(out, n);
      for (uint64_t i = 0; i < n; ++i) out.push_back(text("a text"));
      return out;
    }
    if (is_array) {
      std::vector<GgufValue> out;
      reserve(out, n);
      for (uint64_t i = 0; i < n; ++i) out.push_back(value(GgufType::kArray, nesting + 1));
      return out;
    }
    return {element, numbers(element, n)};
  }

  // What is reserved is in proportion to the bytes that the header may have.
  template <class T>
  void reserve(std::vector<T>& values, uint64_t n) const {
    const uint64_t most = std::min(n, kMaxHeaderBytes / 8);
    check_host_allocation(file_.path().string(), "an array of the header",
                          static_cast<int64_t>(most * sizeof(T)));
    values.reserve(most);
  }

  void check_magic() {
    const std::string begin = head_of(file_);
    if (begin.starts_with(kGgufMagic)) {
      at_ = kGgufMagic.size();
      return;
    }
    const std::string other =
        fmt::format("{} of something else", counted(static_cast<int64_t>(size_), "byte"));
    throw DataError(fmt::format("{}: expected a GGUF file, got {}", file_.path().string(),
                                format_text(begin, other)));
  }

  uint32_t version() {
    const uint64_t begin = at_;
    const auto out = number<uint32_t>("a version");
    if (out == 2 || out == kGgufVersion) return out;
    fail(begin, "version 2 or 3",
         out == 1              ? "version 1; convert the model again with a program of today"
         : (out & 0xffff) == 0 ? "a big-endian file; convert it to little-endian"
                               : fmt::format("version {}", out));
  }

  // Reads all of a tensor's entry but its name. The offset is not placed yet.
  GgufTensor tensor(std::string_view shown) {
    const std::string where = fmt::format("tensor '{}'", printable(shown));
    uint64_t begin = at_;
    const auto rank = number<uint32_t>(where + " with its rank");
    if (rank > kMaxGgufDims)
      fail(begin, fmt::format("{} of rank 0 to {}", where, kMaxGgufDims), std::to_string(rank));
    GgufTensor out{.type = nullptr, .shape = Shape(rank)};
    begin = at_;
    for (size_t i = rank; i-- > 0;) {
      const auto dim = number<uint64_t>(where + " with its dims");
      out.shape[i] =
          static_cast<int64_t>(std::min<uint64_t>(dim, std::numeric_limits<int64_t>::max()));
    }
    if (!is_countable(out.shape))
      fail(begin, fmt::format("{} of at most {} values", where, kMaxElements), to_text(out.shape));
    begin = at_;
    const auto id = number<uint32_t>(where + " with its type");
    out.type = find_block_type(id);
    if (out.type == nullptr) fail(begin, where + " of a known type", std::to_string(id));
    const auto bytes = gguf_tensor_bytes(*out.type, out.shape);
    if (!bytes) {
      fail(begin,
           fmt::format("{} of {}, whose last dim is a multiple of {}", where, out.type->name,
                       out.type->num_values),
           to_text(out.shape));
    }
    out.num_bytes = *bytes;
    begin = at_;
    const auto offset = number<uint64_t>(where + " with its offset");
    if (offset > size_) fail_outside(begin, where, out, offset);
    out.offset = static_cast<int64_t>(offset);
    return out;
  }

  [[noreturn]] void fail_outside(uint64_t at, std::string_view where, const GgufTensor& tensor,
                                 uint64_t offset) const {
    fail(at, fmt::format("{} within {}", where, counted(static_cast<int64_t>(size_), "byte")),
         fmt::format("{} bytes of data from {} on; the file may be cut off", tensor.num_bytes,
                     offset));
  }

  // Moves the offsets behind the header and checks where the tensors lie.
  void place(std::vector<Place>& places, int64_t align) const {
    const int64_t data_begin =
        static_cast<int64_t>(at_) + (-static_cast<int64_t>(at_) & (align - 1));
    const auto size = static_cast<int64_t>(size_);
    for (const auto& [entry, info] : places) {
      GgufTensor& tensor = entry->second;
      const std::string where = fmt::format("tensor '{}'", printable(entry->first));
      if (tensor.offset % align != 0)
        fail(info, fmt::format("{} at a multiple of {}", where, align),
             std::to_string(tensor.offset));
      const int64_t begin = data_begin + tensor.offset;
      if (begin > size || tensor.num_bytes > size - begin)
        fail_outside(info, where, tensor, static_cast<uint64_t>(tensor.offset));
      tensor.offset = begin;
    }
    std::ranges::sort(places, {}, [](const Place& p) {
      return std::pair(p.tensor->second.offset, p.tensor->second.num_bytes);
    });
    for (size_t i = 1; i < places.size(); ++i) {
      const GgufTensor& before = places[i - 1].tensor->second;
      if (before.offset + before.num_bytes > places[i].tensor->second.offset) {
        fail(places[i].info,
             fmt::format("tensor '{}' behind '{}'", printable(places[i].tensor->first),
                         printable(places[i - 1].tensor->first)),
             "an overlap");
      }
    }
  }

  const FileReader& file_;
  uint64_t size_, at_ = 0;
  std::string window_;  // bytes of the file from begin_ on
  uint64_t begin_ = 0;
};

}  // namespace

std::optional<int64_t> gguf_tensor_bytes(const BlockType& type, const Shape& shape) {
  const auto values = checked_product(shape);
  if (!values || (type.num_values > 1 && (shape.empty() || shape.back() % type.num_values != 0)))
    return std::nullopt;
  return checked_product(*values / type.num_values, type.num_bytes);
}

int64_t gguf_alignment(const GgufMetadata& metadata) {
  const auto key = metadata.find(kGgufAlignmentKey);
  if (!key) return kGgufDefaultAlignment;
  const int64_t out = key->integer(1, std::numeric_limits<uint32_t>::max());
  if ((out & (out - 1)) != 0) key->fail("a power of two");
  return out;
}

GgufHeader read_gguf_header(const FileReader& file) { return Header(file).read(); }

namespace {

// Returns how many values of a tensor a row has. Rows [begin, end) must be whole blocks.
int64_t checked_row(const GgufTensor& tensor, int64_t begin, int64_t end) {
  const Shape& shape = tensor.shape;
  AXLE_CHECK(!shape.empty() && 0 <= begin && begin <= end && end <= shape[0], "rows of the tensor");
  const int64_t out = shape[0] == 0 ? 0 : num_elements(shape) / shape[0];
  AXLE_CHECK(begin * out % tensor.type->num_values == 0 && end * out % tensor.type->num_values == 0,
             "whole blocks");
  return out;
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path)
    : file_(storage_error_as<DataError>([&] { return FileReader(path); })),
      header_(read_gguf_header(file_)) {}

std::vector<std::string> GgufFile::names() const {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : header_.tensors) out.push_back(name);
  return out;
}

const GgufTensor& GgufFile::tensor(std::string_view name) const {
  const auto found = header_.tensors.find(name);
  if (found == header_.tensors.end()) {
    throw DataError(fmt::format("{}: expected a tensor '{}', got {} others", path().string(),
                                printable(name), header_.tensors.size()));
  }
  return found->second;
}

Type GgufFile::type(std::string_view name) const {
  const GgufTensor& found = tensor(name);
  if (found.type->dequantize == nullptr) {
    throw DataError(fmt::format("{}: offset {}: expected tensor '{}' of one of {}, got {}",
                                path().string(), found.offset, printable(name),
                                readable_block_types(), found.type->name));
  }
  return {found.type->dtype.value_or(DType::kF32), found.shape};
}

HostTensor GgufFile::get(std::string_view name) const {
  const GgufTensor& found = tensor(name);
  return read(found, name, 0, found.shape);
}

HostTensor GgufFile::get_rows(std::string_view name, int64_t begin, int64_t end) const {
  const GgufTensor& found = tensor(name);
  const int64_t values = checked_row(found, begin, end);
  Shape shape = found.shape;
  shape[0] = end - begin;
  return read(found, name, begin * values, std::move(shape));
}

HostTensor GgufFile::read(const GgufTensor& tensor, std::string_view name, int64_t first_value,
                          Shape shape) const {
  const Type out_type{type(name).dtype, std::move(shape)};
  check_host_allocation(path().string(), fmt::format("tensor '{}'", printable(name)),
                        static_cast<int64_t>(out_type.num_bytes()));
  HostTensor out(out_type);
  const BlockType& block = *tensor.type;
  const int64_t first_block = first_value / block.num_values;
  const int64_t begin = tensor.offset + first_block * block.num_bytes;
  if (block.dtype) {
    file_.read_at(begin, out.bytes());
    return out;
  }
  // Each thread holds a few blocks at a time.
  constexpr int64_t kPieceBytes = int64_t{1} << 16;
  const int64_t piece = kPieceBytes / block.num_bytes;
  float* const values = out.values<float>().data();
  parallel_for(out.size() / block.num_values, piece, [&](int64_t from, int64_t to) {
    std::vector<std::byte> bytes(static_cast<size_t>(kPieceBytes));
    for (int64_t at = from; at < to; at += piece) {
      const int64_t n = std::min(piece, to - at);
      const auto blocks = std::span(bytes).first(n * block.num_bytes);
      file_.read_at(begin + at * block.num_bytes, blocks);
      block.dequantize(blocks.data(), n, values + at * block.num_values);
    }
  });
  return out;
}

std::vector<std::byte> GgufFile::get_blocks(std::string_view name) const {
  const GgufTensor& found = tensor(name);
  return read_blocks(name, found.offset, found.num_bytes);
}

std::vector<std::byte> GgufFile::get_blocks(std::string_view name, int64_t begin,
                                            int64_t end) const {
  const GgufTensor& found = tensor(name);
  const int64_t values = checked_row(found, begin, end);
  const auto size_of = [&](int64_t rows) {
    return rows * values / found.type->num_values * found.type->num_bytes;
  };
  return read_blocks(name, found.offset + size_of(begin), size_of(end - begin));
}

std::vector<std::byte> GgufFile::read_blocks(std::string_view name, int64_t begin,
                                             int64_t num_bytes) const {
  check_host_allocation(path().string(), fmt::format("tensor '{}'", printable(name)), num_bytes);
  std::vector<std::byte> out(static_cast<size_t>(num_bytes));
  file_.read_at(begin, out);
  return out;
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code none;  // a path that can't be looked up names no file
  if (!std::filesystem::is_regular_file(path, none)) return false;
  if (path.extension() == ".gguf") return true;
  std::string begin(kGgufMagic.size(), '\0');
  begin.resize(FileReader(path).read_some(0, std::as_writable_bytes(std::span(begin))));
  return begin == kGgufMagic;
}

}  // namespace axle
