// libaxle_parquet.so: reads a column of texts of a Parquet file, or rows as JSON, by Arrow's C++
// library. `./dev
// parquet` compiles it against the library of the pyarrow wheel.
//
// Memory: a page of the column and its dictionary, whatever the file, within the given limit.
#include "io/parquet/adapter.h"

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type_traits.h>
#include <arrow/util/config.h>
#include <parquet/api/reader.h>
#include <parquet/arrow/reader.h>

#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

std::unique_ptr<parquet::ParquetFileReader> open_reader(const char* path, arrow::MemoryPool& pool) {
  constexpr int64_t kBufferBytes = int64_t{1} << 20;
  parquet::ReaderProperties properties(&pool);
  properties.enable_buffered_stream();
  properties.set_buffer_size(kBufferBytes);
  auto source = arrow::io::ReadableFile::Open(path, &pool);
  if (!source.ok()) throw std::runtime_error(source.status().message());
  return parquet::ParquetFileReader::Open(*source, properties);
}

// Rows, some at a time.
class File {
 public:
  virtual ~File() = default;
  virtual int64_t next() = 0;
  const AxleParquetText* rows() const { return rows_.data(); }

 protected:
  std::vector<AxleParquetText> rows_;
};

class Texts final : public File {
 public:
  Texts(const char* path, const std::string& name, int64_t max_bytes)
      : pool_(arrow::system_memory_pool(), max_bytes), reader_(open_reader(path, pool_)) {
    const parquet::SchemaDescriptor& schema = *reader_->metadata()->schema();
    column_ = schema.ColumnIndex(name);
    if (column_ < 0 || !holds_text(*schema.Column(column_)))
      throw NoColumn("expected a column '" + name + "' of texts, got " + columns_of(schema));
    text_level_ = schema.Column(column_)->max_definition_level();
    levels_.resize(kRows);
    values_.resize(kRows);
    rows_.resize(kRows);
  }

  int64_t next() override {
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

 private:
  static constexpr int64_t kRows = 256;

  arrow::CappedMemoryPool pool_;
  std::unique_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<parquet::RowGroupReader> group_;
  std::shared_ptr<parquet::ByteArrayReader> texts_;
  int column_ = -1, next_group_ = 0;
  int16_t text_level_ = 0;
  std::vector<int16_t> levels_;
  std::vector<parquet::ByteArray> values_;
};

void put_text(std::string_view text, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void put_json(const arrow::Array& array, int64_t i, std::string& out);

template <class List>
void put_list(const List& list, int64_t i, std::string& out) {
  out += '[';
  for (int64_t k = 0; k < list.value_length(i); ++k) {
    if (k > 0) out += ',';
    put_json(*list.values(), list.value_offset(i) + k, out);
  }
  out += ']';
}

void put_struct(const arrow::StructArray& array, int64_t i, std::string& out) {
  out += '{';
  for (int k = 0; k < array.num_fields(); ++k) {
    if (k > 0) out += ',';
    put_text(array.type()->field(k)->name(), out);
    out += ':';
    put_json(*array.field(k), i, out);
  }
  out += '}';
}

// Texts, numbers, and lists and structs of them; other values as Arrow writes them.
void put_json(const arrow::Array& array, int64_t i, std::string& out) {
  if (array.IsNull(i)) {
    out += "null";
    return;
  }
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return put_text(static_cast<const arrow::BinaryArray&>(array).GetView(i), out);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return put_text(static_cast<const arrow::LargeBinaryArray&>(array).GetView(i), out);
    case arrow::Type::LIST:
      return put_list(static_cast<const arrow::ListArray&>(array), i, out);
    case arrow::Type::LARGE_LIST:
      return put_list(static_cast<const arrow::LargeListArray&>(array), i, out);
    case arrow::Type::STRUCT:
      return put_struct(static_cast<const arrow::StructArray&>(array), i, out);
    default:
      break;
  }
  const auto value = array.GetScalar(i);
  if (!value.ok()) throw std::runtime_error(value.status().message());
  const auto id = array.type_id();
  if (id == arrow::Type::BOOL || arrow::is_integer(id) || id == arrow::Type::FLOAT ||
      id == arrow::Type::DOUBLE)
    out += (*value)->ToString();
  else
    put_text((*value)->ToString(), out);
}

class Records final : public File {
 public:
  Records(const char* path, const std::string& columns, int64_t max_bytes)
      : pool_(arrow::system_memory_pool(), max_bytes) {
    auto file = open_reader(path, pool_);
    const parquet::SchemaDescriptor& schema = *file->metadata()->schema();
    const std::vector<int> leaves = leaves_of(schema, columns);
    if (leaves.empty()) {
      std::string names = columns;
      for (size_t at = 0; (at = names.find('\n', at)) != names.npos;) names.replace(at, 1, ", ");
      throw NoColumn("expected one of the columns " + names + ", got " + columns_of(schema));
    }
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_batch_size(kRows);
    properties.set_pre_buffer(false);
    std::vector<int> groups(static_cast<size_t>(file->metadata()->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    reader_ = checked(parquet::arrow::FileReader::Make(&pool_, std::move(file), properties));
    batches_ = checked(reader_->GetRecordBatchReader(groups, leaves));
  }

  int64_t next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    do {
      const arrow::Status status = batches_->ReadNext(&batch);
      if (!status.ok()) throw std::runtime_error(status.message());
      if (!batch) return 0;
    } while (batch->num_rows() == 0);
    const arrow::Status valid = batch->ValidateFull();
    if (!valid.ok()) throw std::runtime_error(valid.message());
    texts_.assign(static_cast<size_t>(batch->num_rows()), {});
    rows_.clear();
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      std::string& text = texts_[static_cast<size_t>(i)];
      for (int k = 0; k < batch->num_columns(); ++k) {
        text += k > 0 ? ',' : '{';
        put_text(batch->schema()->field(k)->name(), text);
        text += ':';
        put_json(*batch->column(k), i, text);
      }
      text += '}';
      rows_.push_back({text.data(), static_cast<int64_t>(text.size())});
    }
    return batch->num_rows();
  }

 private:
  static constexpr int64_t kRows = 64;

  template <class T>
  static T checked(arrow::Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.status().message());
    return std::move(*result);
  }

  static std::vector<int> leaves_of(const parquet::SchemaDescriptor& schema,
                                    const std::string& columns) {
    std::vector<int> out;
    for (int i = 0; i < schema.num_columns(); ++i) {
      const std::string root = schema.GetColumnRoot(i)->name();
      if (("\n" + columns + "\n").find("\n" + root + "\n") != std::string::npos) out.push_back(i);
    }
    return out;
  }

  arrow::CappedMemoryPool pool_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::vector<std::string> texts_;
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
  return guarded(problem, static_cast<void*>(nullptr), [&] {
    return static_cast<void*>(static_cast<File*>(new Texts(path, column, max_bytes)));
  });
}

void* open_records(const char* path, const char* columns, int64_t max_bytes,
                   AxleParquetProblem* problem) {
  return guarded(problem, static_cast<void*>(nullptr), [&] {
    return static_cast<void*>(static_cast<File*>(new Records(path, columns, max_bytes)));
  });
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
                                         .open_records = open_records,
                                         .next = next_rows,
                                         .close = close_file};

}  // namespace

extern "C" __attribute__((visibility("default"))) const AxleParquetAdapter* axle_parquet_adapter() {
  return &kAdapter;
}
