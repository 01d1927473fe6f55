#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/text_table.h"
#include "base/text/units.h"
#include "evaluate/evaluate_task.h"

namespace axle {

std::string to_text(std::span<const TaskResult> results) {
  TextTable table({"task", "metric", "filter", "value", "stderr", "documents", "shots"});
  for (const TaskResult& result : results) {
    for (const MetricResult& metric : result.metrics) {
      table.add({result.task, metric.metric, metric.filter.empty() ? "-" : metric.filter,
                 fmt::format("{:.4f}", metric.value),
                 metric.standard_error ? fmt::format("{:.4f}", *metric.standard_error) : "-",
                 grouped_digits(result.num_documents), std::to_string(result.num_fewshot)});
    }
  }
  std::string out = table.text();
  for (const TaskResult& result : results) {
    if (result.num_cut > 0)
      out += fmt::format("{}: the model read only the end of {}, which {} too long for it\n",
                         result.task, counted(result.num_cut, "context"),
                         result.num_cut == 1 ? "is" : "are");
  }
  return out;
}

nlohmann::ordered_json to_json(std::span<const TaskResult> results) {
  using Json = nlohmann::ordered_json;
  Json out = Json::object();
  for (const TaskResult& result : results) {
    Json metrics = Json::array();
    for (const MetricResult& metric : result.metrics) {
      Json one = {{"metric", metric.metric}, {"value", metric.value}};
      one["standard_error"] = metric.standard_error ? Json(*metric.standard_error) : Json(nullptr);
      one["higher_is_better"] = metric.higher_is_better;
      if (!metric.filter.empty()) one["filter"] = metric.filter;
      metrics.push_back(std::move(one));
    }
    out[result.task] = {{"output_type", to_text(result.output_type)},
                        {"num_documents", result.num_documents},
                        {"num_fewshot", result.num_fewshot},
                        {"num_cut", result.num_cut},
                        {"metrics", std::move(metrics)}};
  }
  return out;
}

}  // namespace axle
