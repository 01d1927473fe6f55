// libaxle_parquet.so: reads a column of texts of a Parquet file by Arrow's C++ library. `./dev
// parquet` compiles it against the library of the pyarrow wheel.
//
// Memory: a page of the column and its dictionary, whatever the file, within the given limit.
#include "io/parquet/adapter.h"

#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/util/config.h>
#include <parquet/api/reader.h>

#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct NoColumn : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool holds_text(const parquet::ColumnDescriptor& column) {
  if (column.physical_type() != parquet::Type::BYTE_ARRAY || column.max_repetition_level() > 0)
    return false;
  const auto& type = column.logical_type();
  return !type || type->is_none() || type->is_string() || type->is_enum() || type->is_JSON();
}

// "id (INT64), text (STRING)"
std::string columns_of(const parquet::SchemaDescriptor& schema) {
  constexpr int kMost = 8;
  std::string out;
  for (int i = 0; i < schema.num_columns() && i < kMost; ++i) {
    const parquet::ColumnDescriptor& column = *schema.Column(i);
    const bool is_plain = !column.logical_type() || column.logical_type()->is_none();
    out += (i > 0 ? ", " : "") + column.path()->ToDotString() + " (" +
           (is_plain ? parquet::TypeToString(column.physical_type())
                     : column.logical_type()->ToString()) +
           (column.max_repetition_level() > 0 ? ", repeated)" : ")");
  }
  return schema.num_columns() > kMost ? out + ", ..." : out;
}

class File {
 public:
  File(const char* path, const std::string& name, int64_t max_bytes)
      : pool_(arrow::system_memory_pool(), max_bytes) {
    parquet::ReaderProperties properties(&pool_);
    properties.enable_buffered_stream();
    properties.set_buffer_size(kBufferBytes);
    auto source = arrow::io::ReadableFile::Open(path, &pool_);
    if (!source.ok()) throw std::runtime_error(source.status().message());
    reader_ = parquet::ParquetFileReader::Open(*source, properties);
    const parquet::SchemaDescriptor& schema = *reader_->metadata()->schema();
    column_ = schema.ColumnIndex(name);
    if (column_ < 0 || !holds_text(*schema.Column(column_)))
      throw NoColumn("expected a column '" + name + "' of texts, got " + columns_of(schema));
    text_level_ = schema.Column(column_)->max_definition_level();
    levels_.resize(kRows);
    values_.resize(kRows);
    rows_.resize(kRows);
  }

  int64_t next() {
    while (!texts_ || !texts_->HasNext()) {
      texts_.reset();
      group_.reset();
      if (next_group_ >= reader_->metadata()->num_row_groups()) return 0;
      group_ = reader_->RowGroup(next_group_++);
      texts_ = std::static_pointer_cast<parquet::ByteArrayReader>(group_->Column(column_));
    }
    int64_t num_values = 0;
    const int64_t count =
        texts_->ReadBatch(kRows, levels_.data(), nullptr, values_.data(), &num_values);
    if (count <= 0) throw std::runtime_error("a page without the rows that it promises");
    int64_t value = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool has_text = text_level_ == 0 || levels_[i] == text_level_;
      if (has_text && value >= num_values)
        throw std::runtime_error("a page with fewer texts than it promises");
      rows_[i] = {nullptr, 0};
      if (!has_text) continue;
      const parquet::ByteArray& text = values_[value++];
      rows_[i] = {text.ptr ? reinterpret_cast<const char*>(text.ptr) : "", text.len};
    }
    return count;
  }
  const AxleParquetText* rows() const { return rows_.data(); }

 private:
  static constexpr int64_t kRows = 256;
  static constexpr int64_t kBufferBytes = int64_t{1} << 20;

  arrow::CappedMemoryPool pool_;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<parquet::RowGroupReader> group_;
  std::shared_ptr<parquet::ByteArrayReader> texts_;
  int column_ = -1, next_group_ = 0;
  int16_t text_level_ = 0;
  std::vector<int16_t> levels_;
  std::vector<parquet::ByteArray> values_;
  std::vector<AxleParquetText> rows_;
};

void tell(AxleParquetProblem* problem, const char* text, bool is_of_column) {
  if (problem->capacity == 0) return;
  std::strncpy(problem->text, text, problem->capacity - 1);
  problem->text[problem->capacity - 1] = '\0';
  problem->is_of_column = is_of_column;
}

// No exception may leave the adapter: the program may have another C++ library.
template <class Fn>
auto guarded(AxleParquetProblem* problem, decltype(std::declval<Fn>()()) failed, const Fn& fn) {
  try {
    return fn();
  } catch (const NoColumn& error) {
    tell(problem, error.what(), true);
  } catch (const std::exception& error) {
    tell(problem, error.what(), false);
  } catch (...) {
    tell(problem, "an unknown error", false);
  }
  return failed;
}

void* open_file(const char* path, const char* column, int64_t max_bytes,
                AxleParquetProblem* problem) {
  return guarded(problem, static_cast<void*>(nullptr),
                 [&] { return static_cast<void*>(new File(path, column, max_bytes)); });
}

int64_t next_rows(void* file, const AxleParquetText** rows, AxleParquetProblem* problem) {
  return guarded(problem, int64_t{-1}, [&] {
    auto* const open = static_cast<File*>(file);
    const int64_t count = open->next();
    *rows = open->rows();
    return count;
  });
}

void close_file(void* file) { delete static_cast<File*>(file); }

constexpr AxleParquetAdapter kAdapter = {.version = kAxleParquetVersion,
                                         .library = "Arrow " ARROW_VERSION_STRING,
                                         .open = open_file,
                                         .next = next_rows,
                                         .close = close_file};

}  // namespace

extern "C" __attribute__((visibility("default"))) const AxleParquetAdapter* axle_parquet_adapter() {
  return &kAdapter;
}
