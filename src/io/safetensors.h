// safetensors files: a JSON header followed by named tensors, which are read on demand.
//
// Layout: u64 header length, the JSON header (name -> dtype, shape, data_offsets; "__metadata__" ->
// strings), then the tensors' bytes, row-major and little-endian, without holes or overlaps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.h"
#include "base/tree.h"
#include "io/file_reader.h"
#include "ir/host_tensor.h"

namespace axle {

/// An open file. Its whole header is checked at construction; tensors are read when requested.
class SafetensorsFile {
 public:
  /// Throws StorageError that says what the file is if it does not begin as a safetensors file.
  /// Throws it with file and offset if the header is truncated or malformed, if tensors overlap,
  /// leave holes or reach past the end, or if their sizes do not match their shapes.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Returns the names, sorted.
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const { return entries_.contains(name); }
  /// Throws StorageError if the tensor does not exist, or if its dtype has no counterpart in Axle:
  /// 4-bit floats, scales.
  Type type(std::string_view name) const;
  /// Returns a copy. Throws as type() does, and Error with kDoesNotFit if the host lacks the
  /// memory.
  HostTensor get(std::string_view name) const;
  /// Fills `part`, which has the dtype of the tensor, with its elements from `first` on. Threads
  /// may read at the same time. Throws as type() does.
  void read_part(std::string_view name, int64_t first, HostTensor& part) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Entry {
    std::string dtype;  // name of the dtype in the file
    Shape shape;
    uint64_t begin = 0, end = 0;  // offsets in the file
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

/// Reads all tensors of the file. Throws as SafetensorsFile does.
Tree<HostTensor> load_safetensors(const std::filesystem::path& path);

/// Writes the tensors and replaces `path` atomically. The header is sorted by name; data are
/// aligned to their element size. The same tensors always have the same bytes. Throws StorageError.
void save_safetensors(const std::filesystem::path& path, const Tree<HostTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// Writes the same file of tensors that are made one by one: `tensor(name)` has the type that
/// `types` says. Throws StorageError, and what `tensor` throws.
void save_safetensors(const std::filesystem::path& path, const Tree<Type>& types,
                      const std::function<HostTensor(const std::string& name)>& tensor,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace axle
