#include "evaluate/task/task_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "io/line_reader.h"

namespace axle {
namespace {

TaskDocument document_of(std::string_view line, std::string where) {
  try {
    const nlohmann::ordered_json record = read_json(line);
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
    LineReader lines(file);
    while (const auto line = lines.next()) {
      if (trim(*line).empty()) continue;
      std::string where = fmt::format("{}:{}", file, lines.number());
      // A document is kept as text and as values.
      constexpr int64_t kCopies = 8, kPricedAtOnce = int64_t{64} << 20;
      num_bytes += kCopies * static_cast<int64_t>(line->size());
      if (num_bytes > num_priced) {
        check_host_allocation(where, "more documents of a task", kPricedAtOnce);
        num_priced = num_bytes + kPricedAtOnce;
      }
      out.documents.push_back(document_of(*line, std::move(where)));
      for (const auto& [name, value] : out.documents.back().fields.dict().items)
        out.fields.insert(name.text());
    }
  }
  if (out.documents.empty())
    throw DataError(fmt::format("{}: expected documents, got none", join(files, ", ")));
  return out;
}

}  // namespace axle
