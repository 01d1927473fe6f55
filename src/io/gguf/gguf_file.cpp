#include "io/gguf/gguf_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/parallel.h"
#include "base/text/utf8.h"
#include "io/file.h"

namespace axle {
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
      const auto blocks = std::span(bytes).first(static_cast<size_t>(n * block.num_bytes));
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
