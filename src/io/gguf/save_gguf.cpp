#include "io/gguf/save_gguf.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text/unicode.h"
#include "io/file.h"
#include "io/gguf/block_type.h"
#include "io/gguf/gguf_file.h"
#include "ir/host_tensor.h"

namespace axle {
namespace {

constexpr size_t kMaxNameBytes = 63;
using Path = std::filesystem::path;

[[noreturn]] void fail(const Path& path, const GgufTensorToSave& tensor, std::string_view expected,
                       std::string_view got) {
  throw DataError(fmt::format("{}: tensor '{}': expected {}, got {}", path.string(),
                              printable(tensor.name), expected, got));
}

// Returns the tensor as the header lists it, without its offset.
GgufTensor checked(const Path& path, const GgufTensorToSave& tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || find_invalid_utf8(tensor.name)) {
    fail(path, tensor, fmt::format("a name of 1 to {} bytes of UTF-8", kMaxNameBytes),
         fmt::format("{} bytes", tensor.name.size()));
  }
  if (tensor.shape.size() > kMaxGgufDims)
    fail(path, tensor, fmt::format("at most {} dims", kMaxGgufDims), to_text(tensor.shape));
  const BlockType* const type = find_block_type(tensor.type);
  if (type == nullptr || type->quantize == nullptr)
    fail(path, tensor, "one of " + writable_block_types(), tensor.type);
  const auto bytes = gguf_tensor_bytes(*type, tensor.shape);
  if (!bytes) {
    fail(path, tensor, fmt::format("a last dim that is a multiple of {}", type->num_values),
         to_text(tensor.shape));
  }
  return {.type = type, .shape = tensor.shape, .num_bytes = *bytes};
}

template <class T>
void append_number(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

void append_text(std::string& out, std::string_view text) {
  append_number<uint64_t>(out, text.size());
  out += text;
}

void append_value(std::string& out, const GgufValue& value) {
  if (value.type() == GgufType::kText) return append_text(out, value.bytes());
  if (value.type() == GgufType::kArray) {
    append_number(out, static_cast<uint32_t>(value.element_type()));
    append_number(out, static_cast<uint64_t>(value.size()));
    if (value.element_type() == GgufType::kText) {
      for (const std::string& text : value.texts()) append_text(out, text);
      return;
    }
    if (value.element_type() == GgufType::kArray) {
      for (const GgufValue& array : value.arrays()) append_value(out, array);
      return;
    }
  }
  out += value.bytes();
}

int64_t padding(int64_t size, int64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

std::string header_of(const GgufMetadata& metadata, std::span<const GgufTensorToSave> names,
                      std::span<const GgufTensor> tensors, int64_t alignment) {
  std::string out(kGgufMagic);
  append_number(out, kGgufVersion);
  append_number<uint64_t>(out, tensors.size());
  append_number<uint64_t>(out, metadata.entries().size());
  for (const auto& [key, value] : metadata.entries()) {
    append_text(out, key);
    append_number(out, static_cast<uint32_t>(value.type()));
    append_value(out, value);
  }
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    append_text(out, names[i].name);
    append_number(out, static_cast<uint32_t>(tensors[i].shape.size()));
    for (size_t d = tensors[i].shape.size(); d-- > 0;)
      append_number(out, static_cast<uint64_t>(tensors[i].shape[d]));
    append_number(out, tensors[i].type->id);
    append_number(out, static_cast<uint64_t>(offset));
    offset += tensors[i].num_bytes + padding(tensors[i].num_bytes, alignment);
  }
  out.append(static_cast<size_t>(padding(std::ssize(out), alignment)), '\0');
  return out;
}

// Blocks have one scale for many values, so one that is not finite would spoil the others.
void check_storable(const Path& path, const GgufTensorToSave& tensor,
                    std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i]) <= kMaxQ8Value) continue;
    fail(path, tensor,
         fmt::format("values of magnitudes up to {:.6g} for {}", kMaxQ8Value, tensor.type),
         fmt::format("{} at {}; BF16 stores it", values[i], i));
  }
}

void write_values(FileWriter& file, const Path& path, const GgufTensorToSave& tensor,
                  const GgufTensor& entry) {
  HostTensor values = tensor.values();
  AXLE_CHECK(values.shape() == entry.shape, "the values of tensor " + tensor.name);
  const BlockType& type = *entry.type;
  if (type.dtype == values.dtype()) return file.write(values.bytes());
  const std::string where = fmt::format("{}: tensor '{}'", path.string(), printable(tensor.name));
  if (values.dtype() != DType::kF32) values = checked_astype(values, DType::kF32, where);
  const std::span<const float> floats = values.values<float>();
  if (!type.dtype) check_storable(path, tensor, floats);
  HostTensor stored(type.dtype ? Type{*type.dtype, entry.shape}
                               : Type{DType::kU8, {entry.num_bytes}});
  const std::span<std::byte> bytes = stored.bytes();
  constexpr int64_t kPieceValues = int64_t{1} << 14;
  parallel_for(values.size() / type.num_values, kPieceValues / type.num_values,
               [&](int64_t from, int64_t to) {
                 type.quantize(floats.data() + from * type.num_values, to - from,
                               bytes.data() + from * type.num_bytes);
               });
  const auto number = type.dtype ? first_too_large(values, stored) : std::nullopt;
  if (number) throw DataError(fmt::format("{}: {}", where, too_large_text(*number, *type.dtype)));
  file.write(bytes);
}

}  // namespace

std::string gguf_without_tensors(const GgufMetadata& metadata) {
  return header_of(metadata, {}, {}, gguf_alignment(metadata));
}

void save_gguf(const Path& path, const GgufMetadata& metadata,
               std::span<const GgufTensorToSave> tensors) {
  const int64_t alignment = gguf_alignment(metadata);
  std::vector<GgufTensor> entries;
  std::set<std::string_view> names;
  for (const GgufTensorToSave& tensor : tensors) {
    entries.push_back(checked(path, tensor));
    if (!names.insert(tensor.name).second) fail(path, tensor, "names that differ", "it twice");
  }
  const std::string header = header_of(metadata, tensors, entries, alignment);
  write_atomically(path, [&](FileWriter& file) {
    file.write(header);
    for (size_t i = 0; i < entries.size(); ++i) {
      write_values(file, path, tensors[i], entries[i]);
      file.write(std::string(static_cast<size_t>(padding(entries[i].num_bytes, alignment)), '\0'));
    }
  });
}

}  // namespace axle
