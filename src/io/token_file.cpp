#include "io/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/file_format.h"
#include "base/text/text_table.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr int64_t kNumbersAtOnce = int64_t{1} << 16;
constexpr int64_t kMostIndexInMemory = int64_t{64} << 20;

[[noreturn]] void fail_at(const FileReader& file, int64_t offset, std::string_view expected,
                          std::string_view got) {
  throw DataError(fmt::format("{}: offset {}: expected {}, got {}", file.path().string(), offset,
                              expected, got));
}

FileReader open_part(const std::string& path) {
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", path, problem));
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) {
    throw DataError(
        fmt::format("{}: expected a part of a token file (PREFIX.bin and PREFIX.idx), "
                    "got {}",
                    path, nothing_at_token_file(path)));
  }
  return storage_error_as<DataError>([&] { return FileReader(file); });
}

template <class T>
std::span<std::byte> bytes_of(std::span<T> values) {
  return std::as_writable_bytes(values);
}

// Throws DataError for a file that is no part of a token file, such as its card.
std::string prefix_of_parts(const std::string& name) {
  const std::string prefix = token_file_prefix(name);
  const std::filesystem::path named = path_of_text(name);
  if (prefix != name || !path_exists(named) || directory_exists(named) ||
      path_exists(path_of_text(prefix + ".idx")))
    return prefix;
  const std::string stem = text_of_path((named.parent_path() / named.stem()).string());
  throw DataError(fmt::format(
      "{}: expected PREFIX of a token file's PREFIX.bin and PREFIX.idx, got a file; {}", name,
      is_token_file(stem) ? "name " + stem : "axle data build makes token files of texts"));
}

}  // namespace

template <class T>
NumbersInFile<T>::NumbersInFile(const FileReader& file, int64_t offset, int64_t count,
                                bool in_memory)
    : file_(&file), offset_(offset), count_(count) {
  if (!in_memory) return;
  values_.resize(count);
  storage_error_as<DataError>([&] { file.read_at(offset, bytes_of(std::span(values_))); });
}

template <class T>
T NumbersInFile<T>::at(int64_t i) const {
  if (!values_.empty()) return values_[i];
  T value;
  storage_error_as<DataError>([&] {
    file_->read_at(offset_ + i * static_cast<int64_t>(sizeof(T)), bytes_of(std::span(&value, 1)));
  });
  return value;
}

template <class T>
void NumbersInFile<T>::for_each_piece(
    const std::function<void(int64_t, std::span<const T>)>& fn) const {
  std::vector<T> piece(values_.empty() ? static_cast<size_t>(std::min(count_, kNumbersAtOnce)) : 0);
  for (int64_t first = 0; first < count_; first += kNumbersAtOnce) {
    const auto size = static_cast<size_t>(std::min(count_ - first, kNumbersAtOnce));
    if (!values_.empty()) {
      fn(first, std::span(values_).subspan(first, size));
      continue;
    }
    const auto values = std::span(piece).first(size);
    storage_error_as<DataError>([&] {
      file_->read_at(offset_ + first * static_cast<int64_t>(sizeof(T)), bytes_of(values));
    });
    fn(first, values);
  }
}

template class NumbersInFile<int32_t>;
template class NumbersInFile<int64_t>;

std::string token_file_prefix(const std::string& name) {
  for (const std::string_view ending : {".idx", ".bin"}) {
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  }
  return name;
}

std::string unfinished_folder(const std::string& prefix) { return prefix + ".part"; }

std::string nothing_at_token_file(const std::string& name) {
  const std::string folder = unfinished_folder(token_file_prefix(name));
  if (!directory_exists(path_of_text(folder))) return nothing_at(path_of_text(name));
  return fmt::format("an unfinished build ({}), which the same axle data build continues", folder);
}

bool is_token_file(const std::string& name) {
  const std::string prefix = token_file_prefix(name);
  if (prefix == name && path_exists(path_of_text(name))) return false;
  const std::filesystem::path index = path_of_text(prefix + ".idx");
  if (!path_exists(index) || directory_exists(index)) return false;
  try {
    std::array<char, kTokenIndexMagic.size()> head = {};
    const size_t got = FileReader(index).read_some(0, std::as_writable_bytes(std::span(head)));
    return std::string_view(head.data(), got) == kTokenIndexMagic;
  } catch (const StorageError&) {
    return false;
  }
}

TokenFile::TokenFile(const std::string& name)
    : prefix_(prefix_of_parts(name)), index_(open_part(index_path())), ids_(open_part(ids_path())) {
  read_header();
  check_index();
}

void TokenFile::read_header() {
  std::array<std::byte, kTokenIndexHeaderBytes> head = {};
  const size_t got = storage_error_as<DataError>([&] { return index_.read_some(0, head); });
  const std::string_view magic(reinterpret_cast<const char*>(head.data()),
                               std::min(got, kTokenIndexMagic.size()));
  if (magic != kTokenIndexMagic) {
    fail_at(
        index_, 0, "an index of a token file (MMIDIDX)",
        format_text(storage_error_as<DataError>([&] { return head_of(index_); }), "other bytes"));
  }
  if (got < head.size()) fail_at(index_, static_cast<int64_t>(got), "a header of 34 bytes", "less");
  const auto number = [&]<class T>(T, size_t offset) {
    T value;
    std::memcpy(&value, head.data() + offset, sizeof(T));
    return value;
  };
  const auto version = number(uint64_t{}, 9);
  if (version != kTokenIndexVersion) fail_at(index_, 9, "version 1", fmt::format("{}", version));
  const auto code = number(uint8_t{}, 17);
  const std::optional<DType> dtype = token_dtype_of(code);
  if (!dtype) fail_at(index_, 17, "a type of integers (1 to 5 or 8)", fmt::format("{}", code));
  dtype_ = *dtype;
  id_bytes_ = static_cast<int64_t>(size_bytes(dtype_));

  const auto sequences = number(uint64_t{}, 18), entries = number(uint64_t{}, 26);
  const auto most = static_cast<uint64_t>(index_.size()) / 8;
  if (sequences > most || entries > most) {
    fail_at(index_, 18, fmt::format("counts for {}", bytes_text(index_.size())),
            fmt::format("{} sequences and {} entries of documents", sequences, entries));
  }
  const auto count = static_cast<int64_t>(sequences), num_entries = static_cast<int64_t>(entries);
  const int64_t bytes = int64_t{kTokenIndexHeaderBytes} + 12 * count + 8 * num_entries;
  if (index_.size() != bytes && index_.size() != bytes + count) {
    fail_at(index_, 18,
            fmt::format("{} bytes for {} and {} entries of documents", bytes,
                        counted(count, "sequence"), num_entries),
            fmt::format("a file of {}", index_.size()));
  }
  const bool in_memory = bytes <= kMostIndexInMemory;  // else the lengths alone, if they fit
  const auto begin = int64_t{kTokenIndexHeaderBytes};
  lengths_ = {index_, begin, count, 4 * count <= kMostIndexInMemory};
  offsets_ = {index_, begin + 4 * count, count, in_memory};
  documents_ = {index_, begin + 12 * count, num_entries, in_memory};
  num_documents_ = std::max<int64_t>(num_entries - 1, 0);
}

// Reads the three lists side by side.
void TokenFile::check_index() {
  const int64_t count = lengths_.count(), begin = int64_t{kTokenIndexHeaderBytes};
  int64_t before = 0;
  documents_.for_each_piece([&](int64_t first, std::span<const int64_t> values) {
    for (size_t k = 0; k < values.size(); ++k) {
      const int64_t i = first + static_cast<int64_t>(k), value = values[k];
      const bool is_last = i == documents_.count() - 1;
      if (value < before || value > count || (i == 0 && value != 0) ||
          (is_last && value != count)) {
        fail_at(index_, begin + 12 * count + 8 * i,
                i == 0    ? "the first sequence, 0"
                : is_last ? fmt::format("the number of sequences, {}", count)
                          : fmt::format("a sequence of {} to {}", before, count),
                fmt::format("{}", value));
      }
      has_single_sequences_ &= value == i;
      before = value;
    }
  });
  if (documents_.count() == 0 && count > 0)
    fail_at(index_, 26, "documents for the sequences", "none");

  int64_t next_document = 0;  // the first that begins behind the sequence
  int64_t next_begin = count > 0 ? documents_.at(0) : 0;  // its first sequence
  int64_t end = 0;                                        // of the sequence before
  int64_t document_length = 0;
  const int64_t in_file = ids_.size();
  lengths_.for_each_piece([&](int64_t first, std::span<const int32_t> lengths) {
    std::vector<int64_t> offsets(lengths.size());
    storage_error_as<DataError>(
        [&] { index_.read_at(begin + 4 * count + 8 * first, bytes_of(std::span(offsets))); });
    for (size_t k = 0; k < lengths.size(); ++k) {
      const int64_t i = first + static_cast<int64_t>(k), length = lengths[k], offset = offsets[k];
      if (length < 0) {
        fail_at(index_, begin + 4 * i, "a length of 0 or more", fmt::format("{}", length));
      }
      const bool begins = i == next_begin;
      while (next_begin == i) {
        ++next_document;
        next_begin = has_single_sequences_ ? i + 1 : documents_.at(next_document);
      }
      const int64_t bytes = length * id_bytes_;
      const int64_t at = begin + 4 * count + 8 * i;
      if (offset < 0 || offset % id_bytes_ != 0 || offset > in_file - bytes) {
        storage_error_as<DataError>([&] { check_no_text(ids_, "ids of a token file"); });
        fail_at(index_, at,
                fmt::format("a place of {} in {} of {}", counted(bytes, "byte"),
                            ids_.path().filename().string(), counted(in_file, "byte")),
                fmt::format("{}", offset));
      }
      if (!begins && offset != end) {
        fail_at(index_, at, fmt::format("the end of the sequence before, {}", end),
                fmt::format("{}", offset));
      }
      end = offset + bytes;
      document_length = (begins ? 0 : document_length) + length;
      if (document_length > std::numeric_limits<int32_t>::max())
        fail_at(index_, at, "a document of less than 2^31 ids", fmt::format("{}", document_length));
      num_tokens_ = saturating_sum(num_tokens_, length);
    }
  });
}

TokenFile::Piece TokenFile::piece(int64_t document) const {
  if (has_single_sequences_) return {offsets_.at(document), lengths_.at(document)};
  const int64_t first = documents_.at(document), end = documents_.at(document + 1);
  if (first >= end) return {};
  const int64_t offset = offsets_.at(first);
  return {offset, (offsets_.at(end - 1) - offset) / id_bytes_ + lengths_.at(end - 1)};
}

int64_t TokenFile::length(int64_t document) const {
  return has_single_sequences_ ? lengths_.at(document) : piece(document).length;
}

namespace {

template <class T>
void read_as(const FileReader& file, int64_t offset, std::span<int32_t> out, int64_t document,
             int64_t first, int64_t vocab_size, std::string_view tokenizer) {
  constexpr size_t kAtOnce = 4096;
  std::array<T, kAtOnce> buffer;
  for (size_t done = 0; done < out.size(); done += kAtOnce) {
    const auto values = std::span(buffer).first(std::min(kAtOnce, out.size() - done));
    const int64_t at = offset + static_cast<int64_t>(done * sizeof(T));
    storage_error_as<DataError>([&] { file.read_at(at, bytes_of(values)); });
    for (size_t i = 0; i < values.size(); ++i) {
      const auto id = static_cast<int64_t>(values[i]);
      if (id < 0 || id >= vocab_size) {
        throw DataError(fmt::format(
            "{}: document {}: expected ids of 0 to {}{}{}, got {} at token {}; it is "
            "of another tokenizer, or damaged",
            file.path().string(), document, vocab_size - 1, tokenizer.empty() ? "" : " of ",
            tokenizer, id, first + static_cast<int64_t>(done + i)));
      }
      out[done + i] = static_cast<int32_t>(id);
    }
  }
}

}  // namespace

void TokenFile::read(int64_t document, int64_t first, std::span<int32_t> out, int64_t vocab_size,
                     std::string_view tokenizer) const {
  const Piece place = piece(document);
  AXLE_CHECK(first >= 0 && first + std::ssize(out) <= place.length, "ids of one document");
  const auto read = [&]<class T>(T) {
    read_as<T>(ids_, place.offset + first * id_bytes_, out, document, first,
               std::min(vocab_size, int64_t{1} << 31), tokenizer);
  };
  switch (dtype_) {
    case DType::kU8:
      return read(uint8_t{});
    case DType::kI8:
      return read(int8_t{});
    case DType::kU16:
      return read(uint16_t{});
    case DType::kI16:
      return read(int16_t{});
    case DType::kI64:
      return read(int64_t{});
    default:
      return read(int32_t{});
  }
}

std::vector<int32_t> TokenFile::ids_of(int64_t document) const {
  std::vector<int32_t> out(static_cast<size_t>(length(document)));
  read(document, 0, out);
  return out;
}

namespace {

constexpr size_t kWrittenAtOnce = size_t{1} << 20;

template <class T>
void append_id(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

// A file whose writes are gathered.
class TokenFileWriter::Gathered {
 public:
  // Cuts an existing file to `bytes` and writes behind them.
  Gathered(const std::string& path, int64_t bytes) : file_(cut_to(path, bytes), mode(bytes)) {}
  std::string& buffer() { return buffer_; }
  void flush_if_full() {
    if (buffer_.size() >= kWrittenAtOnce) flush();
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }
  void sync() {
    flush();
    file_.sync();
  }

 private:
  static WriteMode mode(int64_t bytes) {
    return bytes == 0 ? WriteMode::kTruncate : WriteMode::kAppend;
  }
  static const std::string& cut_to(const std::string& path, int64_t bytes) {
    if (bytes == 0) return path;
    std::error_code error;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
    if (error || size < bytes) {
      throw StorageError(fmt::format("{}: expected at least {} bytes of an earlier run, got {}",
                                     path, bytes, error ? error.message() : std::to_string(size)));
    }
    std::filesystem::resize_file(path, static_cast<uintmax_t>(bytes), error);
    if (error) throw StorageError(fmt::format("{}: cannot cut: {}", path, error.message()));
    return path;
  }
  FileWriter file_;
  std::string buffer_;
};

struct TokenFileWriter::Files {
  Gathered ids, lengths;
};

TokenFileWriter::TokenFileWriter(std::string prefix, DType dtype, TokenCounts at)
    : prefix_(std::move(prefix)), dtype_(dtype), counts_(at) {
  AXLE_CHECK(code_of_token_dtype(dtype) != 0, "a type of ids");
  const auto id_bytes = static_cast<int64_t>(size_bytes(dtype));
  files_.reset(new Files{.ids = {prefix_ + ".bin", at.num_tokens * id_bytes},
                         .lengths = {prefix_ + ".lengths", 4 * at.num_documents}});
}

TokenFileWriter::~TokenFileWriter() = default;

void TokenFileWriter::add(std::span<const int32_t> ids) {
  std::string& out = files_->ids.buffer();
  for (const int32_t id : ids) {
    switch (dtype_) {
      case DType::kU8:
        append_id(out, static_cast<uint8_t>(id));
        break;
      case DType::kI8:
        append_id(out, static_cast<int8_t>(id));
        break;
      case DType::kU16:
        append_id(out, static_cast<uint16_t>(id));
        break;
      case DType::kI16:
        append_id(out, static_cast<int16_t>(id));
        break;
      case DType::kI64:
        append_id(out, static_cast<int64_t>(id));
        break;
      default:
        append_id(out, id);
    }
    files_->ids.flush_if_full();
  }
  append_id(files_->lengths.buffer(), static_cast<int32_t>(ids.size()));
  files_->lengths.flush_if_full();
  ++counts_.num_documents;
  counts_.num_tokens += std::ssize(ids);
}

void TokenFileWriter::sync() {
  files_->ids.sync();
  files_->lengths.sync();
}

void TokenFileWriter::finish() {
  sync();
  const std::string lengths_path = prefix_ + ".lengths";
  const int64_t count = counts_.num_documents;
  const auto id_bytes = static_cast<int64_t>(size_bytes(dtype_));
  write_atomically(prefix_ + ".idx", [&](FileWriter& file) {
    std::string out(kTokenIndexMagic);
    append_id(out, kTokenIndexVersion);
    append_id(out, code_of_token_dtype(dtype_));
    append_id(out, static_cast<uint64_t>(count));
    append_id(out, static_cast<uint64_t>(count + 1));
    const FileReader reader(lengths_path);
    const NumbersInFile<int32_t> lengths(reader, 0, count, false);
    const auto write_if = [&](size_t at_least) {
      if (out.size() < at_least) return;
      file.write(out);
      out.clear();
    };
    lengths.for_each_piece([&](int64_t, std::span<const int32_t> values) {
      for (const int32_t length : values) append_id(out, length);
      write_if(kWrittenAtOnce);
    });
    int64_t offset = 0;
    lengths.for_each_piece([&](int64_t, std::span<const int32_t> values) {
      for (const int32_t length : values) {
        append_id(out, offset);
        offset += length * id_bytes;
      }
      write_if(kWrittenAtOnce);
    });
    for (int64_t i = 0; i <= count; ++i) {
      append_id(out, i);
      write_if(kWrittenAtOnce);
    }
    write_if(0);
  });
  remove_tree(lengths_path);
}

DType token_dtype(int64_t vocab_size) {
  return vocab_size <= int64_t{1} << 16 ? DType::kU16 : DType::kI32;
}

}  // namespace axle
