#include "evaluate/task/task_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "data/json_records.h"

namespace axle {
namespace {

TaskDocument document_of(std::string_view text, std::string where) {
  try {
    const nlohmann::ordered_json record = read_json(text);
    if (!record.is_object()) throw JsonError("expected an object, got another value");
    return {jinja::Value::of_json(record), record.dump(), std::move(where)};
  } catch (const JsonError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  } catch (const jinja::JinjaError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

TaskSplit read_task_split(const std::vector<std::string>& files) {
  TaskSplit out;
  int64_t num_bytes = 0, num_priced = 0;
  for (const std::string& file : files) {
    JsonRecords records(file, "no document");
    while (const auto record = records.next()) {
      std::string where = fmt::format("{}:{}", file, record->line);
      // A document is kept as text and as values.
      constexpr int64_t kCopies = 8, kPricedAtOnce = int64_t{64} << 20;
      num_bytes += kCopies * std::ssize(record->bytes);
      if (num_bytes > num_priced) {
        check_host_allocation(where, "more documents of a task", kPricedAtOnce);
        num_priced = num_bytes + kPricedAtOnce;
      }
      out.documents.push_back(document_of(record->bytes, std::move(where)));
      for (const auto& [name, value] : out.documents.back().fields.dict().items)
        out.fields.insert(name.text());
    }
  }
  if (out.documents.empty())
    throw DataError(fmt::format("{}: expected documents, got none", join(files, ", ")));
  return out;
}

}  // namespace axle
