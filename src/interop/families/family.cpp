#include "interop/families/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/text/text.h"
#include "io/file.h"
#include "nn/param.h"

namespace axle {
namespace {

std::map<std::string_view, Family>& registered() {
  static std::map<std::string_view, Family> all;
  return all;
}

}  // namespace

const std::map<std::string_view, Family>& families() { return registered(); }

FamilyRow::FamilyRow(const Family& family) {
  AXLE_CHECK(registered().emplace(family.model_type, family).second,
             "two families " + std::string(family.model_type));
}

const Family& family_of(const ForeignConfig& config) {
  const auto found = families().find(config.text("model_type", ""));
  if (found != families().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, family] : families()) names.emplace_back(name);
  config.fail("model_type", "one of " + join(names, ", "));
}

namespace {

using Json = nlohmann::ordered_json;

// A family's attempt to describe a model.
struct Attempt {
  FamilyConfig config;
  size_t num_differences = std::numeric_limits<size_t>::max();
  std::string first_difference;
};

Attempt attempt(const PlainModel& model, const Family& family, const std::string& where) {
  Attempt out{.config = {.family = &family, .fields = {}, .model = {}}, .first_difference = {}};
  Json& fields = out.config.fields;
  fields["architectures"] = Json::array({family.architecture});
  fields["model_type"] = family.model_type;
  fields.update(family.fields(model));
  try {
    // As the file will be read.
    const ForeignConfig config(Json::parse(fields.dump()), where);
    out.config.model = family.model(config);
    const auto found = differences(model, plain_model(out.config.model));
    out.num_differences = found.size();
    if (found.empty()) return out;
    const ModelDifference& first = found.front();
    out.first_difference =
        fmt::format("{}: expected {}, got {}", first.path, first.second, first.first);
  } catch (const DataError& error) {
    out.first_difference = error.what();
    if (out.first_difference.starts_with(where + ": "))
      out.first_difference.erase(0, where.size() + 2);
  }
  return out;
}

}  // namespace

FamilyConfig described(const Child<Model>& model, const std::string& model_type,
                       const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, family] : families())
    if (family.fields) names.emplace_back(name);
  const std::string listed = join(names, ", ");
  if (!model_type.empty() && std::ranges::count(names, model_type) == 0) {
    throw ConfigError(
        fmt::format("{}: expected a family of {}, got '{}'", where, listed, model_type));
  }
  const PlainModel plain = config_error_in(where, [&] { return plain_model(model); });
  Attempt nearest;
  for (const std::string& name : names) {
    if (!model_type.empty() && name != model_type) continue;
    Attempt own = attempt(plain, families().at(name), where);
    if (own.num_differences == 0) return std::move(own.config);
    if (!nearest.config.family || own.num_differences < nearest.num_differences)
      nearest = std::move(own);
  }
  throw ConfigError(fmt::format(
      "{}: expected a model of {}, got another one; it comes nearest to {}, but for {}", where,
      model_type.empty() ? "one of the families " + listed : "the family " + model_type,
      nearest.config.family->model_type, nearest.first_difference));
}

namespace {

constexpr std::string_view kModel = "model";

}  // namespace

Tree<ParamSpec> stored_tensors(const Model& model, const std::vector<WeightRow>& rows) {
  Tree<ParamSpec> out = subtree(model.param_specs(), kModel);
  const Tree<ParamSpec> state = subtree(model.state_specs(), kModel);
  for (const WeightRow& row : rows)
    if (const auto found = state.find(row.ours); found != state.end()) out.insert(*found);
  return out;
}

Tree<HostTensor> take_layer_state(const Model& model, Tree<HostTensor>& tensors) {
  Tree<HostTensor> out;
  for (const auto& [path, spec] : model.state_specs()) {
    const auto found = tensors.find(path.substr(kModel.size() + 1));
    if (found == tensors.end()) {
      out.emplace(path, draw_parameter(path, spec, 0));
      continue;
    }
    out.emplace(path, std::move(found->second));
    tensors.erase(found);
  }
  return out;
}

}  // namespace axle
