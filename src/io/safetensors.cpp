#include "io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/lists.h"
#include "base/text/file_format.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "io/file.h"

namespace axle {
namespace {

std::string bytes_of(uint64_t size) { return counted(static_cast<int64_t>(size), "byte"); }

static_assert(std::endian::native == std::endian::little,
              "tensor bytes are copied as they lie in memory");
using Json = nlohmann::ordered_json;
constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

struct DTypeRow {
  std::string_view name;
  int64_t size;
  std::optional<DType> dtype;  // none: known to the format but not to Axle
};
constexpr DTypeRow kDTypes[] = {{"BOOL", 1, DType::kPred},
                                {"I8", 1, DType::kI8},
                                {"I16", 2, DType::kI16},
                                {"I32", 4, DType::kI32},
                                {"I64", 8, DType::kI64},
                                {"U8", 1, DType::kU8},
                                {"U16", 2, DType::kU16},
                                {"U32", 4, DType::kU32},
                                {"U64", 8, DType::kU64},
                                {"F8_E4M3", 1, DType::kF8E4M3FN},
                                {"F8_E5M2", 1, DType::kF8E5M2},
                                {"F16", 2, DType::kF16},
                                {"BF16", 2, DType::kBF16},
                                {"F32", 4, DType::kF32},
                                {"F64", 8, DType::kF64},
                                {"C64", 8, DType::kC64},
                                {"F8_E8M0", 1, {}}};

const DTypeRow* find_dtype(std::string_view name) {
  const auto* row = std::ranges::find(kDTypes, name, &DTypeRow::name);
  return row == std::end(kDTypes) ? nullptr : row;
}

// Returns the names of the dtypes that Axle can read and write.
std::string known_names() {
  std::string out;
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
  }
  return out;
}

std::string_view format_name(const std::filesystem::path& path, const std::string& name,
                             DType dtype) {
  const auto* row = std::ranges::find(kDTypes, dtype, &DTypeRow::dtype);
  if (row == std::end(kDTypes)) {
    throw StorageError(fmt::format("{}: expected tensor '{}' of one of {}, got {}", path.string(),
                                   printable(name), known_names(), name_of(dtype)));
  }
  return row->name;
}

// Says what a file is that begins with these bytes and has no header of safetensors; what to do.
std::string kind_of(std::string_view begin, uint64_t size) {
  constexpr std::string_view kWriter = "; the Python package safetensors writes one (save_file)";
  if (const FileFormat* const format = recognized_format(begin))
    return to_text(*format) + std::string(format->advice.empty() ? kWriter : "");
  begin = begin.substr(0, 16);
  const bool is_text = std::ranges::all_of(begin, [](unsigned char c) {
    return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
  return (is_text ? fmt::format("a text that begins with '{}'",
                                begin.substr(0, begin.find_first_of("\r\n")))
                  : fmt::format("{} of something else", bytes_of(size))) +
         std::string(kWriter);
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  parse_header();
  check_layout();
}

void SafetensorsFile::fail(uint64_t offset, std::string_view expected, std::string_view got) const {
  throw StorageError(fmt::format("{}: offset {}: expected {}, got {}", file_.path().string(),
                                 offset, expected, got));
}

void SafetensorsFile::parse_header() {
  const auto size = static_cast<uint64_t>(file_.size());
  const std::string begin = head_of(file_);
  const size_t first = begin.find_first_not_of(" \n", kLengthBytes);
  if (begin.size() <= kLengthBytes || (first != begin.npos && begin[first] != '{')) {
    throw StorageError(fmt::format("{}: expected a safetensors file, got {}", file_.path().string(),
                                   kind_of(begin, size)));
  }
  uint64_t length = 0;
  begin.copy(reinterpret_cast<char*>(&length), kLengthBytes);
  if (length > kMaxHeaderBytes)
    fail(0, fmt::format("a header of at most {} bytes", kMaxHeaderBytes),
         fmt::format("a length of {}", length));
  if (length > size - kLengthBytes) {
    fail(kLengthBytes, "a header of " + bytes_of(length), "a file of " + bytes_of(size));
  }
  data_begin_ = kLengthBytes + length;
  std::string text(length, '\0');
  file_.read_at(kLengthBytes, std::as_writable_bytes(std::span(text)));
  json_as<StorageError>(fmt::format("{}: offset {}", file_.path().string(), kLengthBytes), [&] {
    const Json header = read_json(text);
    for (const auto& [name, value] : JsonView(header).members()) {
      if (name != kMetadata) {
        entries_.emplace(name, parse_entry(name, value));
        continue;
      }
      for (const auto& [key, note] : value.members()) metadata_.emplace(key, note.text());
    }
  });
}

SafetensorsFile::Entry SafetensorsFile::parse_entry(const std::string& name,
                                                    const JsonView& json) const {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Entry entry{.dtype = json.at("dtype").text(), .shape = {}};
  for (const JsonView& dim : json.at("shape").elements())
    entry.shape.push_back(dim.integer(0, kMax));
  const std::vector<JsonView> offsets = json.at("data_offsets").elements();
  if (offsets.size() != 2) json.at("data_offsets").fail("two numbers");
  const auto begin = static_cast<uint64_t>(offsets[0].integer(0, kMax)),
             end = static_cast<uint64_t>(offsets[1].integer(0, kMax));
  const uint64_t data_bytes = static_cast<uint64_t>(file_.size()) - data_begin_;
  const std::string shown = printable(name);
  if (begin > end || end > data_bytes) {
    fail(data_begin_ + std::min(begin, data_bytes),
         fmt::format("tensor '{}' within {} of data", shown, bytes_of(data_bytes)),
         fmt::format("data_offsets [{},{}]; the file may be cut off", begin, end));
  }
  entry.begin = data_begin_ + begin;
  entry.end = data_begin_ + end;
  const DTypeRow* row = find_dtype(entry.dtype);
  const auto count = checked_product(entry.shape);
  const auto bytes = count && row ? checked_product(*count, row->size) : std::nullopt;
  if (row != nullptr && bytes != static_cast<int64_t>(end - begin)) {
    fail(
        entry.begin,
        fmt::format("tensor '{}' with the bytes of {}{}", shown, entry.dtype, to_text(entry.shape)),
        bytes_of(end - begin));
  }
  return entry;
}

void SafetensorsFile::check_layout() const {
  std::vector<const Tree<Entry>::value_type*> order;
  for (const auto& item : entries_) order.push_back(&item);
  std::ranges::sort(
      order, {}, [](const auto* item) { return std::pair(item->second.begin, item->second.end); });
  uint64_t next = data_begin_;
  for (const auto* item : order) {
    if (item->second.begin != next) {
      fail(item->second.begin, fmt::format("tensor '{}' to begin at {}", item->first, next),
           item->second.begin < next ? "an overlap with another tensor" : "a hole before it");
    }
    next = item->second.end;
  }
  const auto size = static_cast<uint64_t>(file_.size());
  if (next != size)
    fail(next, "the end of the file", bytes_of(size - next) + " that belong to no tensor");
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw StorageError(fmt::format("{}: expected a tensor '{}', got {} others",
                                   file_.path().string(), name, entries_.size()));
  }
  return found->second;
}

Type SafetensorsFile::type(std::string_view name) const {
  const Entry& e = entry(name);
  const DTypeRow* row = find_dtype(e.dtype);
  if (row == nullptr || !row->dtype) {
    fail(e.begin, fmt::format("tensor '{}' of one of {}", printable(name), known_names()), e.dtype);
  }
  return {*row->dtype, e.shape};
}

HostTensor SafetensorsFile::get(std::string_view name) const {
  const Type t = type(name);
  check_host_allocation(file_.path().string(), fmt::format("tensor '{}'", printable(name)),
                        static_cast<int64_t>(t.num_bytes()));
  HostTensor out(t);
  const Entry& e = entry(name);
  file_.read_at(static_cast<int64_t>(e.begin), out.bytes());
  return out;
}

void SafetensorsFile::read_part(std::string_view name, int64_t first, HostTensor& part) const {
  const Type t = type(name);
  AXLE_CHECK(part.dtype() == t.dtype && first >= 0 && part.size() <= t.num_elements() - first,
             "a part of tensor " + std::string(name));
  const int64_t at = first * static_cast<int64_t>(size_bytes(t.dtype));
  file_.read_at(static_cast<int64_t>(entry(name).begin) + at, part.bytes());
}

Tree<HostTensor> load_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Tree<HostTensor> out;
  for (const auto& name : file.names()) out.emplace(name, file.get(name));
  return out;
}

namespace {

// Writes tensors of these types; `write_data` writes the bytes of one.
void write_tensors(const std::filesystem::path& path, const Tree<Type>& types,
                   const std::map<std::string, std::string>& metadata,
                   const std::function<void(const std::string& name, FileWriter&)>& write_data) {
  // Holes are not allowed, so alignment comes from the order of the data: wide elements first. The
  // header keeps the order of names.
  std::vector<const Tree<Type>::value_type*> order;
  for (const auto& item : types) order.push_back(&item);
  std::ranges::stable_sort(order, std::greater{},
                           [](const auto* item) { return size_bytes(item->second.dtype); });

  uint64_t offset = 0;
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  // The header lists the names in order.
  for (const auto& [name, type] : types) header[name] = {};
  for (const auto* item : order) {
    const Type& type = item->second;
    const uint64_t end = offset + type.num_bytes();
    header[item->first] = {{"dtype", format_name(path, item->first, type.dtype)},
                           {"shape", type.dims},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  // Makes the data begin at a multiple of 8 bytes.
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  const uint64_t length = text.size();

  write_atomically(path, [&](FileWriter& file) {
    file.write(std::string_view(reinterpret_cast<const char*>(&length), kLengthBytes));
    file.write(text);
    for (const auto* item : order) write_data(item->first, file);
  });
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const Tree<HostTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Tree<Type> types;
  for (const auto& [name, tensor] : tensors) types.emplace(name, tensor.type());
  write_tensors(path, types, metadata, [&](const std::string& name, FileWriter& file) {
    file.write(tensors.at(name).bytes());
  });
}

void save_safetensors(const std::filesystem::path& path, const Tree<Type>& types,
                      const std::function<HostTensor(const std::string& name)>& tensor,
                      const std::map<std::string, std::string>& metadata) {
  write_tensors(path, types, metadata, [&](const std::string& name, FileWriter& file) {
    const HostTensor value = tensor(name);
    AXLE_CHECK(value.type() == types.at(name), "another type than that of " + name);
    file.write(value.bytes());
  });
}

}  // namespace axle
