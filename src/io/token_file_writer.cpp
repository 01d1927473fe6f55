#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "io/file.h"
#include "io/token_file.h"
#include "io/token_file_header.h"

namespace axle {
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
