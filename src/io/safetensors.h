// safetensors files: named tensors behind a JSON header, read on demand.
//
// Layout: u64 header length, the JSON header (name -> dtype, shape, data_offsets; "__metadata__" ->
// strings), then the tensors' bytes, row-major and little-endian, without holes or overlaps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.h"
#include "base/tree.h"
#include "io/file_reader.h"
#include "ir/host_tensor.h"

namespace axle {

/// An open file whose header has been checked in full; tensors are copied out when asked for.
class SafetensorsFile {
 public:
  /// Throws StorageError naming file and offset if the header is cut off or malformed, if tensors
  /// overlap, leave holes or reach past the end, or if sizes do not fit shapes.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Sorted.
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const { return entries_.contains(name); }
  /// Throws StorageError if there is no such tensor or Axle has no such dtype (F16, I8, U8, I16,
  /// U16, F8 kinds).
  Type type(std::string_view name) const;
  /// A copy. Throws as type() does, and Error with kDoesNotFit where the host has no room for it.
  HostTensor get(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Entry {
    std::string dtype;  // as the file says
    Shape shape;
    uint64_t begin = 0, end = 0;  // in the file
  };
  const Entry& entry(std::string_view name) const;
  void parse_header();
  Entry parse_entry(const std::string& name, const JsonView& json) const;
  void check_layout() const;
  [[noreturn]] void fail(uint64_t offset, std::string_view expected, std::string_view got) const;

  FileReader file_;
  uint64_t data_begin_ = 0;
  Tree<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// All tensors of the file. Throws as SafetensorsFile does.
Tree<HostTensor> load_safetensors(const std::filesystem::path& path);

/// Writes the header sorted by name, the data aligned to the size of their elements, and replaces
/// `path` atomically. The same tensors give the same bytes. Throws StorageError.
void save_safetensors(const std::filesystem::path& path, const Tree<HostTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace axle
