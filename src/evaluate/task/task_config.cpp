#include "evaluate/task/task_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/unicode.h"
#include "base/text/yaml.h"
#include "config/leaf.h"
#include "data/text_source.h"
#include "io/file.h"

namespace axle {

YamlSection::YamlSection(Json value, std::string where, std::string what)
    : value_(std::move(value)), where_(std::move(where)), what_(std::move(what)) {
  if (value_.is_null()) value_ = Json::object();
  if (!value_.is_object()) {
    throw ConfigError(fmt::format("{}: expected a mapping with the keys of {}, got another value",
                                  where_, what_));
  }
}

std::optional<YamlSection::Json> YamlSection::take(std::string_view key) {
  known_.emplace_back(key);
  const auto found = value_.find(key);
  if (found == value_.end()) return std::nullopt;
  Json out = std::move(*found);
  value_.erase(found);
  return out.is_null() ? std::nullopt : std::optional(std::move(out));
}

std::optional<std::string> YamlSection::take_text(std::string_view key) {
  const auto value = take(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) fail(key, "expected a text, got a list or mapping");
  return value->get<std::string>();
}

std::vector<std::string> YamlSection::take_texts(std::string_view key) {
  const auto value = take(key);
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) fail(key, "expected a text or a list of texts, got a mapping");
  std::vector<std::string> out;
  for (const Json& one : *value) {
    if (!one.is_string()) fail(key, "expected a list of texts, got another element");
    out.push_back(one.get<std::string>());
  }
  return out;
}

std::optional<int64_t> YamlSection::take_integer(std::string_view key, int64_t least) {
  const auto text = take_text(key);
  if (!text) return std::nullopt;
  const auto value = at(key, [&] { return parse_leaf<int64_t>(*text); });
  if (value < least)
    fail(key, fmt::format("expected an integer of at least {}, got {}", least, value));
  return value;
}

bool YamlSection::take_flag(std::string_view key, bool fallback) {
  const auto text = take_text(key);
  if (!text) return fallback;
  return at(key, [&] { return parse_leaf<bool>(lower_case(*text)); });
}

void YamlSection::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) take(key);
}

void YamlSection::check_all_taken() const {
  if (value_.empty()) return;
  std::vector<std::string> names, others;
  for (const auto& [key, value] : value_.items()) others.push_back(printable(key));
  std::string hint = suggest(others[0], known_);
  if (hint.empty()) hint = fmt::format(" (keys: {})", join(known_, ", "));
  throw ConfigError(fmt::format("{}: expected keys of {} that are understood, got {}{}", where_,
                                what_, join(others, ", "), hint));
}

std::string YamlSection::place(std::string_view key) const {
  return fmt::format("{}: {}", where_, key);
}

void YamlSection::fail(std::string_view key, std::string_view message) const {
  throw ConfigError(fmt::format("{}: {}", place(key), message));
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kMaxIncludes = 16;

// The documents of a task are not the task.
[[noreturn]] void fail_of_documents(const fs::path& file) {
  throw ConfigError(fmt::format(
      "{}: expected the YAML file of a task, got documents; write one beside it with task: NAME, "
      "dataset_path: json, dataset_kwargs: {{data_files: {{test: {}}}}}, test_split: test, "
      "output_type: multiple_choice, doc_to_text, doc_to_choice and doc_to_target, the fields of "
      "the question, the choices and the right one",
      file.string(), file.filename().string()));
}

// A file that another one includes has the keys that the other one lacks. Adds its path to
// `included`.
Json with_includes(const fs::path& file, std::vector<std::string>& included) {
  if (!path_exists(file)) {
    throw ConfigError(
        fmt::format("{}: expected the file of a task, got {}", file.string(), nothing_at(file)));
  }
  constexpr auto kEndings = std::to_array<std::string_view>({".jsonl", ".ndjson", ".parquet"});
  if (std::ranges::count(kEndings, format_ending(file)) > 0) fail_of_documents(file);
  Json document =
      parse_yaml(storage_error_as<ConfigError>([&] { return read_stream(file, kMaxConfigBytes); }),
                 file.string(), nullptr, NullWords::kOfYaml);
  const bool has_records = document.is_array() && !document.empty() && document.front().is_object();
  if (has_records) fail_of_documents(file);
  if (!document.is_object())
    throw ConfigError(file.string() +
                      ": expected a mapping with the keys of a task, got another value");
  const auto include = document.find("include");
  if (include == document.end()) return document;
  if (!include->is_string())
    throw ConfigError(file.string() + ": include: expected the path of a file, got another value");
  if (included.size() == kMaxIncludes) {
    throw ConfigError(
        fmt::format("{}: include: expected at most {} files one inside of the other, "
                    "got more; does a file include itself?",
                    file.string(), kMaxIncludes));
  }
  const fs::path path = path_of_text(include->get<std::string>());
  const bool is_beside = path.is_relative() && path_problem(path.native()).empty();
  document.erase(include);
  const fs::path other = is_beside ? file.parent_path() / path : path;
  included.push_back(other.string());
  Json out = with_includes(other, included);
  for (const auto& [key, value] : document.items()) out[key] = value;
  return out;
}

class TaskReader {
 public:
  explicit TaskReader(const fs::path& file)
      : file_(file), task_(with_includes(file, out_.included), file.string(), "a task") {}

  TaskConfig read() {
    refuse_groups();
    out_.file = file_.string();
    out_.name = task_.take_text("task").value_or(file_.stem().string());
    read_data();
    if (const auto type = task_.take_text("output_type"))
      task_.at("output_type", [&] { from_text(*type, out_.output_type); });
    read_texts();
    read_few_shot();
    read_generation();
    read_metrics();
    read_filters();
    read_stride();
    task_.ignore(
        {"task_alias", "tag", "metadata", "should_decontaminate", "doc_to_decontamination_query"});
    if (const int64_t repeats = task_.take_integer("repeats", 1).value_or(1); repeats > 1)
      task_.fail("repeats", fmt::format("expected 1, since answers are greedy, got {}", repeats));
    task_.check_all_taken();
    return std::move(out_);
  }

 private:
  void refuse_groups() {
    if (task_.take("group"))
      task_.fail("group", "expected a file of one task, got a group; name each of its tasks");
  }

  // A relative path is that of a file beside the task, or else of one in the current folder.
  std::string data_path(const std::string& text) const {
    const fs::path path = path_of_text(text), beside = file_.parent_path() / path;
    const std::string found = (path_exists(beside) ? beside : path).string();
    if (!path_exists(found)) {
      throw DataError(fmt::format("{}: expected a file of documents, got {}", printable(found),
                                  nothing_at(found)));
    }
    return found;
  }

  std::vector<std::string> paths_of(const Json& value) const {
    std::vector<std::string> out;
    const auto add = [&](const Json& one) {
      if (!one.is_string())
        task_.fail("dataset_kwargs", "data_files: expected paths, got another value");
      out.push_back(data_path(one.get<std::string>()));
    };
    if (!value.is_array()) add(value);
    if (value.is_array()) {
      for (const Json& one : value) add(one);
    }
    return out;
  }

  void read_data() {
    constexpr std::string_view kWhatToDo =
        "; write the documents into a file with one JSON object a line, and set dataset_path: json "
        "and dataset_kwargs: {data_files: {test: FILE}}";
    const auto path = task_.take_text("dataset_path");
    if (path != "json")
      task_.fail("dataset_path", fmt::format("expected json, got {}{}",
                                             printable(path.value_or("none")), kWhatToDo));
    if (const auto name = task_.take_text("dataset_name"))
      task_.fail("dataset_name", fmt::format("expected none for JSON, got {}", printable(*name)));
    YamlSection kwargs(task_.take("dataset_kwargs").value_or(Json()), task_.place("dataset_kwargs"),
                       "a dataset");
    const auto files = kwargs.take("data_files");
    if (!files) kwargs.fail("data_files", fmt::format("expected files, got none{}", kWhatToDo));
    if (files->is_object()) {
      for (const auto& [split, value] : files->items()) out_.data_files[split] = paths_of(value);
    } else {
      out_.data_files["train"] = paths_of(*files);
    }
    kwargs.ignore({"trust_remote_code"});
    kwargs.check_all_taken();
    out_.training_split = take_split("training_split");
    out_.validation_split = take_split("validation_split");
    out_.test_split = take_split("test_split");
    out_.fewshot_split = take_split("fewshot_split");
    if (!out_.test_split && !out_.validation_split)
      task_.fail("test_split", "expected a test_split or a validation_split, got neither");
  }

  std::optional<std::string> take_split(std::string_view key) {
    auto split = task_.take_text(key);
    if (split && !out_.data_files.contains(*split)) {
      std::vector<std::string> names;
      for (const auto& [name, files] : out_.data_files) names.push_back(printable(name));
      task_.fail(key, fmt::format("expected a split of data_files ({}), got '{}'",
                                  join(names, ", "), printable(*split)));
    }
    return split;
  }

  static TaskText take_template(YamlSection& from, std::string_view key) {
    const auto text = from.take_text(key);
    return {text.value_or(""), text ? from.place(key) : ""};
  }

  // Reads the keys that are there over the values of `out`.
  static void read_doc(YamlSection& from, DocTexts& out) {
    const auto take = [&](std::string_view key, TaskText& text) {
      const TaskText found = take_template(from, key);
      if (!found.where.empty()) text = found;
      return !found.where.empty();
    };
    take("doc_to_text", out.text);
    if (auto target = from.take("doc_to_target")) {
      out.targets.clear();
      if (target->is_array()) {
        for (const Json& one : *target) {
          if (!one.is_string()) from.fail("doc_to_target", "expected texts, got another element");
          out.targets.push_back(one.get<std::string>());
        }
      } else if (target->is_string()) {
        out.target = {target->get<std::string>(), from.place("doc_to_target")};
      } else {
        from.fail("doc_to_target", "expected a text or a list of texts, got a mapping");
      }
    }
    read_choices(from, out);
    if (const auto text = from.take_text("target_delimiter")) out.target_delimiter = *text;
    if (const auto text = from.take_text("fewshot_delimiter")) out.fewshot_delimiter = *text;
  }

  static void read_choices(YamlSection& from, DocTexts& out) {
    const auto value = from.take("doc_to_choice");
    if (!value) return;
    out.choices.clear();
    out.choice = {};
    if (value->is_string()) {
      out.choice = {value->get<std::string>(), from.place("doc_to_choice")};
      return;
    }
    for (const auto& [key, one] : value->items()) {
      if (!one.is_string()) from.fail("doc_to_choice", "expected texts, got another element");
      out.choices.push_back(one.get<std::string>());
    }
    if (out.choices.empty()) from.fail("doc_to_choice", "expected choices, got none");
  }

  void read_texts() {
    out_.description = take_template(task_, "description");
    read_doc(task_, out_.doc);
    if (out_.doc.target.where.empty() && out_.doc.targets.empty())
      task_.fail("doc_to_target", "expected a field or a template, got none");
    if (out_.doc.text.where.empty() && out_.output_type != OutputType::kRolling)
      task_.fail("doc_to_text", "expected a field or a template, got none");
    if (out_.output_type == OutputType::kMultipleChoice && !out_.doc.has_choices())
      task_.fail("doc_to_choice", "expected the choices of multiple_choice, got none");
  }

  void read_few_shot() {
    out_.num_fewshot = task_.take_integer("num_fewshot", 0).value_or(0);
    out_.fewshot_doc = out_.doc;
    YamlSection few(task_.take("fewshot_config").value_or(Json()), task_.place("fewshot_config"),
                    "few-shot documents");
    if (const auto sampler = few.take_text("sampler"))
      few.at("sampler", [&] { from_text(*sampler, out_.sampler); });
    if (const auto split = few.take_text("split")) {
      if (!out_.data_files.contains(*split))
        few.fail("split",
                 fmt::format("expected a split of data_files, got '{}'", printable(*split)));
      out_.fewshot_split = split;
    }
    read_doc(few, out_.fewshot_doc);
    few.check_all_taken();
    if (out_.num_fewshot > 0 && out_.output_type == OutputType::kRolling)
      task_.fail("num_fewshot", "expected 0 for loglikelihood_rolling, got more");
  }

  void read_generation() {
    const auto given = task_.take("generation_kwargs");
    TaskGeneration& out = out_.generation;
    out.until = {out_.doc.fewshot_delimiter};
    if (!given) return;
    if (out_.output_type != OutputType::kGenerateUntil)
      task_.fail("generation_kwargs", "expected use with generate_until, got another output_type");
    YamlSection kwargs(*given, task_.place("generation_kwargs"), "generation");
    if (const auto until = kwargs.take_texts("until"); !until.empty()) out.until = until;
    std::erase(out.until, "");
    // Programs call it by several names; the first one counts.
    std::optional<int64_t> most;
    for (const std::string_view key :
         {"max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens"}) {
      const auto own = kwargs.take_integer(key, 1);
      if (!most) most = own;
    }
    out.max_tokens = most.value_or(out.max_tokens);
    if (kwargs.take_flag("do_sample", false))
      kwargs.fail("do_sample", "expected false, since answers are greedy, got true");
    kwargs.ignore({"temperature"});  // greedy answers have none
    kwargs.check_all_taken();
  }

  void read_metrics() {
    const auto list = task_.take("metric_list");
    if (!list) {
      out_.metrics = default_metrics(out_.output_type);
      return;
    }
    if (!list->is_array() || list->empty())
      task_.fail("metric_list", "expected a list of metrics, got another value");
    for (size_t i = 0; i < list->size(); ++i) {
      YamlSection metric((*list)[i], task_.place(fmt::format("metric_list[{}]", i)), "a metric");
      out_.metrics.push_back(read_metric(metric));
    }
  }

  MetricConfig read_metric(YamlSection& from) const {
    const auto name = from.take_text("metric");
    if (!name) from.fail("metric", "expected a name, got none");
    MetricConfig out = from.at("metric", [&] { return metric_named(*name, out_.output_type); });
    if (const auto aggregation = from.take_text("aggregation"))
      out.aggregation = from.at("aggregation", [&] { return &aggregation_named(*aggregation); });
    out.higher_is_better = from.take_flag("higher_is_better", out.higher_is_better);
    if (*name == "exact_match") {
      for (const std::string& regex : from.take_texts("regexes_to_ignore")) {
        from.at("regexes_to_ignore", [&] {
          out.exact_match.regexes_to_ignore.emplace_back(regex, RegexSyntax::kPython);
        });
      }
      out.exact_match.ignore_case = from.take_flag("ignore_case", false);
      out.exact_match.ignore_punctuation = from.take_flag("ignore_punctuation", false);
      out.exact_match.ignore_numbers = from.take_flag("ignore_numbers", false);
    }
    from.check_all_taken();
    return out;
  }

  void read_filters() {
    const auto list = task_.take("filter_list");
    if (!list) {
      out_.filters = {FilterChain{}};
      return;
    }
    if (out_.output_type != OutputType::kGenerateUntil)
      task_.fail("filter_list", "expected use with generate_until, got another output_type");
    if (!list->is_array() || list->empty())
      task_.fail("filter_list", "expected a list of filters, got another value");
    for (size_t i = 0; i < list->size(); ++i) {
      YamlSection chain((*list)[i], task_.place(fmt::format("filter_list[{}]", i)), "a filter");
      FilterChain out{.name = chain.take_text("name").value_or("none")};
      const auto steps = chain.take("filter");
      if (!steps || !steps->is_array()) chain.fail("filter", "expected a list, got another value");
      for (size_t n = 0; n < steps->size(); ++n)
        chain.at(fmt::format("filter[{}]", n),
                 [&] { out.filters.push_back(make_filter((*steps)[n])); });
      chain.check_all_taken();
      out_.filters.push_back(std::move(out));
    }
  }

  void read_stride() {
    out_.stride = task_.take_integer("stride", 1);
    if (out_.stride && out_.output_type != OutputType::kRolling)
      task_.fail("stride", "expected use with loglikelihood_rolling, got another output_type");
  }

  fs::path file_;
  TaskConfig out_;
  YamlSection task_;
};

}  // namespace

TaskConfig read_task_config(const fs::path& file) { return TaskReader(file).read(); }

}  // namespace axle
