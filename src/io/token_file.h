// Token files: documents as token ids, in the format of Megatron-LM. PREFIX.bin holds the ids of
// all documents, PREFIX.idx the offset of each.
//
// PREFIX.idx, little-endian: "MMIDIDX", two zero bytes, u64 version 1, u8 code of the type of ids,
// u64 number of sequences S, u64 number of entries D, i32 lengths[S] in ids, i64 offsets[S] in
// bytes of PREFIX.bin, i64 first sequences of documents[D], of which the last is S; behind that
// perhaps i8 modes[S], which are not read.
//
// Source: Megatron-LM, megatron/core/datasets/indexed_dataset.py.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/file_reader.h"
#include "ir/dtype.h"

namespace axle {

/// Numbers of one type that lie one after the other in a file: in memory if they are few, else
/// read one by one.
template <class T>
class NumbersInFile {
 public:
  NumbersInFile() = default;
  /// The file must outlive the object.
  NumbersInFile(const FileReader& file, int64_t offset, int64_t count, bool in_memory);
  T at(int64_t i) const;
  int64_t count() const { return count_; }
  /// Calls fn(first, values) for all numbers in order, a piece at a time.
  void for_each_piece(const std::function<void(int64_t, std::span<const T>)>& fn) const;

 private:
  const FileReader* file_ = nullptr;
  int64_t offset_ = 0, count_ = 0;
  std::vector<T> values_ = {};
};

/// Returns PREFIX of "PREFIX", "PREFIX.idx" or "PREFIX.bin".
std::string token_file_prefix(const std::string& name);
/// True if PREFIX.idx exists and begins as an index of token files does. False for a PREFIX that is
/// a file or a folder itself.
bool is_token_file(const std::string& name);

/// The folder in which a build of a token file keeps what it has, until it is finished.
std::string unfinished_folder(const std::string& prefix);
/// Returns what is there instead of a missing token file, or a missing part of it: an
/// unfinished build, or what nothing_at() says.
std::string nothing_at_token_file(const std::string& name);

/// Documents of token ids, read as they are asked for. At most 64 MiB of the index are in memory.
/// Usable from several threads.
///
/// Opening reads all of the index: every offset lies in PREFIX.bin, and a document of several
/// sequences is one piece of it. Throws DataError "<file>: offset <n>: expected ..., got ..." for
/// files that are missing, cut off or damaged.
class TokenFile {
 public:
  /// `name` is PREFIX, PREFIX.idx or PREFIX.bin.
  explicit TokenFile(const std::string& name);
  TokenFile(const TokenFile&) = delete;

  const std::string& prefix() const { return prefix_; }
  std::string index_path() const { return prefix_ + ".idx"; }
  std::string ids_path() const { return prefix_ + ".bin"; }
  /// The type of ids in the file: u8, i8, u16, i16, i32 or i64.
  DType dtype() const { return dtype_; }
  int64_t num_documents() const { return num_documents_; }
  int64_t num_tokens() const { return num_tokens_; }
  /// Number of ids of a document.
  int64_t length(int64_t document) const;
  /// Reads ids of a document from its id number `first` on, which all are in the document. Throws
  /// DataError with document, index and `tokenizer`, the name of the one whose ids are expected,
  /// for an id that is negative or not below `vocab_size`.
  void read(int64_t document, int64_t first, std::span<int32_t> out,
            int64_t vocab_size = int64_t{1} << 31, std::string_view tokenizer = {}) const;
  std::vector<int32_t> ids_of(int64_t document) const;

 private:
  struct Piece {
    int64_t offset = 0, length = 0;  // in bytes of PREFIX.bin; in ids
  };
  Piece piece(int64_t document) const;
  void read_header();
  void check_index();

  std::string prefix_;
  FileReader index_, ids_;
  DType dtype_ = DType::kI32;
  int64_t id_bytes_ = 4;
  int64_t num_documents_ = 0, num_tokens_ = 0;
  bool has_single_sequences_ = true;  // each document is one sequence
  NumbersInFile<int32_t> lengths_;
  NumbersInFile<int64_t> offsets_, documents_;
};

/// How much of a token file is written.
struct TokenCounts {
  int64_t num_documents = 0, num_tokens = 0;
  bool operator==(const TokenCounts&) const = default;
};

/// Writes a token file document by document, in bounded memory. PREFIX.idx comes last, so that
/// there is no token file before finish(); lengths are kept in PREFIX.lengths until then.
class TokenFileWriter {
 public:
  /// Continues behind the first `at` of an unfinished file and drops what is behind them; {}:
  /// starts from the beginning. Throws StorageError if less is there.
  TokenFileWriter(std::string prefix, DType dtype, TokenCounts at = {});
  ~TokenFileWriter();

  /// Ids must fit the type.
  void add(std::span<const int32_t> ids);
  const TokenCounts& counts() const { return counts_; }
  /// Waits until all that was added is on the disk.
  void sync();
  /// Writes PREFIX.idx and removes PREFIX.lengths.
  void finish();

 private:
  class Gathered;
  struct Files;
  std::string prefix_;
  DType dtype_;
  TokenCounts counts_;
  std::unique_ptr<Files> files_;
};

/// The smallest type that holds the ids of a vocabulary and that other programs read: u16 or i32.
DType token_dtype(int64_t vocab_size);

inline constexpr std::string_view kTokenIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr uint64_t kTokenIndexVersion = 1;
inline constexpr size_t kTokenIndexHeaderBytes = 34;

/// The codes of the types of ids. The format also knows f64 (6) and f32 (7), which are no ids.
inline constexpr auto kTokenDTypes = std::to_array<std::pair<uint8_t, DType>>({{1, DType::kU8},
                                                                               {2, DType::kI8},
                                                                               {3, DType::kI16},
                                                                               {4, DType::kI32},
                                                                               {5, DType::kI64},
                                                                               {8, DType::kU16}});

inline std::optional<DType> token_dtype_of(uint8_t code) {
  for (const auto& [number, dtype] : kTokenDTypes) {
    if (number == code) return dtype;
  }
  return std::nullopt;
}

/// Returns 0 for a type that ids do not have.
inline uint8_t code_of_token_dtype(DType dtype) {
  for (const auto& [number, one] : kTokenDTypes) {
    if (one == dtype) return number;
  }
  return 0;
}

}  // namespace axle
