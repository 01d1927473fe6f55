#include "recipes/resolve/recipe_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kSections = {"recipe", "replace", "modify", "set"};

// True if the document has a field of a trainer's config and no section. No section has the name of
// a field.
bool is_whole_config(const Json& document) {
  const auto& fields = Trainer::Config::config_type().fields;
  const auto is_field = [&](const auto& item) {
    return std::ranges::count(fields, std::string_view(item.key()), &Field::name) > 0;
  };
  const auto is_section = [](const auto& item) {
    return std::ranges::count(kSections, item.key()) > 0;
  };
  const auto items = document.items();
  return document.is_object() && std::any_of(items.begin(), items.end(), is_field) &&
         std::none_of(items.begin(), items.end(), is_section);
}

class SectionReader {
 public:
  SectionReader(Json document, YamlLines lines, const std::string& source)
      : source_(source), lines_(std::move(lines)), document_(std::move(document)) {}

  RecipeFile read() {
    RecipeFile out;
    out.source = source_;
    if (document_.is_null()) return out;
    if (!document_.is_object())
      fail({}, "expected the sections recipe, replace, modify, set; got something else");
    if (is_whole_config(document_)) {
      out.config = std::move(document_);
      return out;
    }
    size_t index = 0;
    for (const auto& [name, section] : document_.items()) {
      const Place at = {index++};
      if (!std::ranges::count(kSections, name)) fail_unknown(at, name);
      if (section.is_null()) continue;
      if (name == "recipe") out.recipe = text_of(at, section);
      if (name == "replace") out.replace = entries(at, mapping(at, section));
      if (name == "set") out.set = entries(at, mapping(at, section));
      if (name == "modify") out.modify = modifiers(at, section);
    }
    return out;
  }

 private:
  // Position of a key or element (see YamlLines).
  using Place = std::vector<size_t>;
  static Place below(Place place, size_t index) {
    place.push_back(index);
    return place;
  }

  std::string where(const Place& at) const {
    const auto line = lines_.find(at);
    return fmt::format("{}:{}", source_, line == lines_.end() ? 1 : line->second);
  }
  [[noreturn]] void fail(const Place& at, std::string_view message) const {
    throw ConfigError(fmt::format("{}: {}", where(at), message));
  }
  [[noreturn]] void fail_expected(const Place& at, std::string_view expected,
                                  const Json& got) const {
    fail(at, fmt::format("expected {}, got {}", expected, printable(got.dump())));
  }
  [[noreturn]] void fail_unknown(const Place& at, const std::string& name) const {
    fail(at, fmt::format("no such section: {}{} (sections: {})", printable(name),
                         suggest(name, kSections), join(kSections, ", ")));
  }

  std::string text_of(const Place& at, const Json& value) const {
    if (!value.is_string()) fail_expected(at, "the name of a recipe", value);
    return value.get<std::string>();
  }
  const Json& mapping(const Place& at, const Json& value) const {
    if (!value.is_object()) fail_expected(at, "a mapping", value);
    return value;
  }

  std::vector<RecipeFileEntry> entries(const Place& at, const Json& values) const {
    std::vector<RecipeFileEntry> out;
    for (const auto& [key, value] : values.items())
      out.push_back({key, value, where(below(at, out.size()))});
    return out;
  }

  // Parses a list of modifiers. Each is a name with or without fields:
  //   - SetMesh
  //   - SetMesh: {mesh: data=2}
  std::vector<RecipeFileEntry> modifiers(const Place& at, const Json& values) const {
    if (!values.is_array()) fail_expected(at, "a list of modifiers", values);
    std::vector<RecipeFileEntry> out;
    for (const Json& value : values) {
      const Place element = below(at, out.size());
      if (value.is_string()) {
        out.push_back({value.get<std::string>(), nullptr, where(element)});
      } else if (value.is_object() && value.size() == 1) {
        out.push_back(entries(element, value).front());
      } else {
        fail_expected(element, "one modifier, 'Name' or 'Name: {field: value}'", value);
      }
    }
    return out;
  }

  std::string source_;
  YamlLines lines_;
  Json document_;
};

}  // namespace

RecipeFile parse_recipe_file(std::string_view text, const std::string& source) {
  YamlLines lines;
  Json document = parse_yaml(text, source, &lines);
  return read_recipe_file(std::move(document), std::move(lines), source);
}

RecipeFile read_recipe_file(Json document, YamlLines lines, const std::string& source) {
  return SectionReader(std::move(document), std::move(lines), source).read();
}

}  // namespace axle
