#include "base/text/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/host_memory.h"
#include "base/text/file_format.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxDepth = 64;  // of nested objects and lists

// Builds the document from the parser's events. The library's own builder keeps the last of equal
// keys, searches all keys for each new one and has no limit of depth.
class Builder {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  Json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool v) { return add(v); }
  bool number_integer(int64_t v) { return add(v); }
  bool number_unsigned(uint64_t v) { return add(v); }
  bool number_float(double v, const std::string&) { return add(v); }
  bool string(std::string& v) { return add(std::move(v)); }
  bool binary(Json::binary_t&) { return false; }  // for binary formats only
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    if (!level.names.insert(name).second) {
      throw JsonError(
          fmt::format("{}expected every key once, got '{}' twice", place(), printable(name)));
    }
    level.name = std::move(name);
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& error) {
    if (const FileFormat* const format = other_format())
      throw JsonError(fmt::format("expected JSON, got {}", to_text(*format)));
    // Error 406: a number beyond the range of a double.
    throw JsonError(fmt::format("byte {}: expected JSON, got {}", byte,
                                error.id == 406 ? "a number that is too large" : "a syntax error"));
  }

 private:
  // What the text is, if it is no JSON from its beginning on and not empty.
  const FileFormat* other_format() const {
    const std::string_view text = trim(text_);
    return text.empty() || text[0] == '{' || text[0] == '[' ? nullptr : recognized_format(text_);
  }

  struct Level {
    Json* value;
    std::string name = {};  // name of the field that comes next
    std::unordered_set<std::string> names = {};
  };

  std::string place() const {
    std::string path;
    for (const Level& level : levels_) {
      if (&level == &levels_.back()) break;
      if (level.value->is_array())
        path += fmt::format("[{}]", level.value->size() - 1);
      else
        path += (path.empty() ? "" : ".") + printable(level.name);
    }
    return path.empty() ? "" : path + ": ";
  }

  Json* put(Json&& value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      level.value->push_back(std::move(value));
      return &level.value->back();
    }
    auto& fields = level.value->get_ref<Json::object_t&>();
    fields.emplace_back(level.name, std::move(value));
    return &fields.back().second;
  }

  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (levels_.size() >= kMaxDepth) {
      throw JsonError(
          fmt::format("expected at most {} nested objects and lists, got more", kMaxDepth));
    }
    Json* const placed = put(std::move(value));
    levels_.push_back({placed});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json read_json(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw JsonError(
        fmt::format("expected at most {} bytes of JSON, got {}", max_bytes, text.size()));
  }
  constexpr int64_t kMemoryPerByte = 24;  // for short values: "" in a list takes 3 bytes of text
  check_host_allocation("a JSON document", "its " + counted(std::ssize(text), "byte"),
                        kMemoryPerByte * std::ssize(text));
  Builder builder(text);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::string replace_python_numbers(std::string_view text,
                                   const std::function<std::string(std::string_view)>& value_of) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    std::string_view word;
    if (!in_string) {
      for (const std::string_view each : {"-Infinity", "Infinity", "NaN"}) {
        if (word.empty() && text.substr(i).starts_with(each)) word = each;
      }
    }
    if (!word.empty()) {
      out += value_of(word);
      i += word.size() - 1;
      continue;
    }
    out += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

Json read_record_json(std::string_view text) {
  try {
    return read_json(text);
  } catch (const JsonError&) {
    const std::string other = replace_python_numbers(text, [](auto) { return "null"; });
    if (other == text) throw;
    try {
      return read_json(other);
    } catch (const JsonError&) {
    }
    throw;  // with the locations in the text itself
  }
}

void JsonView::fail(std::string_view expected) const {
  // Shows only the size of a list or object, which may hold millions of values.
  const std::string got =
      value_->is_structured()
          ? fmt::format("{} of {}", value_->is_array() ? "a list" : "an object", value_->size())
          : printable(value_->dump());
  throw JsonError(
      fmt::format("{}expected {}, got {}", path_.empty() ? "" : path_ + ": ", expected, got));
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) fail("an object");
  for (const auto& [name, value] : value_->get_ref<const Json::object_t&>()) {
    if (name == key) return JsonView(value, (path_.empty() ? "" : path_ + ".") + std::string(key));
  }
  return std::nullopt;
}

JsonView JsonView::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  throw JsonError(fmt::format("{}expected the field '{}', got an object without it",
                              path_.empty() ? "" : path_ + ": ", key));
}

std::vector<JsonView> JsonView::elements() const {
  if (!value_->is_array()) fail("a list");
  std::vector<JsonView> out;
  for (const Json& element : *value_)
    out.emplace_back(element, fmt::format("{}[{}]", path_, out.size()));
  return out;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonView>> out;
  for (const auto& [name, value] : value_->get_ref<const Json::object_t&>())
    out.emplace_back(name, JsonView(value, fmt::format("{}['{}']", path_, printable(name))));
  return out;
}

const std::string& JsonView::text() const {
  if (!value_->is_string()) fail("a text");
  return value_->get_ref<const std::string&>();
}

int64_t JsonView::integer(int64_t least, int64_t most) const {
  const bool is_large =
      value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const bool is_whole = value_->is_number_integer() && !is_large;
  const int64_t number = is_whole ? value_->get<int64_t>() : 0;
  if (!is_whole || number < least || number > most)
    fail(fmt::format("an integer of {} to {}", least, most));
  return number;
}

std::vector<std::string> JsonView::texts() const {
  std::vector<std::string> out;
  for (const JsonView& element : elements()) out.push_back(element.text());
  return out;
}

}  // namespace axle
