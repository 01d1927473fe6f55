#include "recipes/recipe_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "config/serialize.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kSections = {"recipe", "replace", "modify", "set"};

// Every key is a field of a trainer's config: no section has such a name.
bool is_whole_config(const Json& document) {
  const auto& fields = Trainer::Config::config_type().fields;
  const auto is_field = [&](const auto& item) {
    return std::ranges::count(fields, std::string_view(item.key()), &Field::name) > 0;
  };
  const auto items = document.items();
  return document.is_object() && !document.empty() &&
         std::all_of(items.begin(), items.end(), is_field);
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& source)
      : source_(source),
        document_(parse_yaml(text, source)),
        nodes_(YAML::Load(std::string(text))) {}

  RecipeFile parse() {
    if (document_.is_null()) return {};
    if (!document_.is_object())
      fail(nodes_, "expected the sections recipe, replace, modify, set; got something else");
    RecipeFile out;
    if (is_whole_config(document_)) {
      out.config = document_;
      return out;
    }
    for (const auto& item : nodes_) {
      const std::string name = item.first.Scalar();
      const Json& section = document_.at(name);
      if (!std::ranges::count(kSections, name)) fail_unknown(item.first, name);
      if (section.is_null()) continue;
      if (name == "recipe") out.recipe = text_of(item.second, section);
      if (name == "replace") out.replace = entries(item.second, mapping(item.second, section));
      if (name == "set") out.set = entries(item.second, mapping(item.second, section));
      if (name == "modify") out.modify = modifiers(item.second, section);
    }
    return out;
  }

 private:
  std::string where(const YAML::Node& node) const {
    return fmt::format("{}:{}", source_, node.Mark().line + 1);
  }
  [[noreturn]] void fail(const YAML::Node& at, std::string_view message) const {
    throw ConfigError(fmt::format("{}: {}", where(at), message));
  }
  [[noreturn]] void fail_unknown(const YAML::Node& at, const std::string& name) const {
    fail(at, fmt::format("no such section: {}{} (sections: {})", name, suggest(name, kSections),
                         join(kSections, ", ")));
  }

  std::string text_of(const YAML::Node& at, const Json& value) const {
    if (!value.is_string()) fail(at, "expected the name of a recipe, got " + value.dump());
    return value.get<std::string>();
  }
  const Json& mapping(const YAML::Node& at, const Json& value) const {
    if (!value.is_object()) fail(at, "expected a mapping, got " + value.dump());
    return value;
  }

  std::vector<RecipeFileEntry> entries(const YAML::Node& node, const Json& values) const {
    std::vector<RecipeFileEntry> out;
    for (const auto& item : node) {
      const std::string key = item.first.Scalar();
      out.push_back({key, values.at(key), where(item.first)});
    }
    return out;
  }

  // A list of names, each maybe with fields: "- SetMesh" or "- SetMesh: {mesh: data=2}".
  std::vector<RecipeFileEntry> modifiers(const YAML::Node& node, const Json& values) const {
    if (!values.is_array()) fail(node, "expected a list of modifiers, got " + values.dump());
    std::vector<RecipeFileEntry> out;
    for (size_t i = 0; i < values.size(); ++i) {
      const Json& value = values[i];
      if (value.is_string()) {
        out.push_back({value.get<std::string>(), nullptr, where(node[i])});
      } else if (value.is_object() && value.size() == 1) {
        out.push_back(entries(node[i], value).front());
      } else {
        fail(node[i],
             "expected one modifier, 'Name' or 'Name: {field: value}', got " + value.dump());
      }
    }
    return out;
  }

  std::string source_;
  Json document_;
  YAML::Node nodes_;
};

}  // namespace

RecipeFile parse_recipe_file(std::string_view text, const std::string& source) {
  return Parser(text, source).parse();
}

}  // namespace axle
