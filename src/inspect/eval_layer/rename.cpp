#include "inspect/eval_layer/rename.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {
namespace {

constexpr std::string_view kArrow = "->";
constexpr std::string_view kNone = "none";
constexpr std::string_view kGrad = "grad/";

constexpr std::array<std::string_view, 16> kSections = {
    "in",   "out",   "state", "cotangent", "params",    "init_params", "init",    "batches",
    "grad", "param", "final", "loss",      "summaries", "aux_losses",  "outputs", "module_outputs"};

// True if the first segment of the name is a section of eval-layer's files.
bool has_section(std::string_view name) {
  return std::ranges::count(kSections, name.substr(0, name.find('/'))) > 0;
}

}  // namespace

size_t parameter_prefix(std::string_view name) {
  for (const std::string_view section :
       {"params/", "init_params/", "grad/params/", "init/", "final/"}) {
    if (name.starts_with(section)) return section.size();
  }
  for (const std::string_view section : {"grad/", "param/"}) {
    const size_t slash = name.find('/', section.size());
    if (name.starts_with(section) && slash != name.npos &&
        is_digits(name.substr(section.size(), slash - section.size())))
      return slash + 1;
  }
  return 0;
}

RenameRules::RenameRules(std::string_view text, const std::string& source) : source_(source) {
  int number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const size_t arrow = line.find(kArrow);
    const std::string_view theirs = trim(line.substr(0, arrow));
    const std::string_view ours =
        arrow == line.npos ? "" : trim(line.substr(arrow + kArrow.size()));
    if (theirs.empty() || ours.empty()) {
      throw ConfigError(
          fmt::format("{}:{}: expected 'theirs -> ours', got '{}'", source, number, line));
    }
    try {
      PathPattern pattern(theirs);
      pattern.check_replacement(ours);
      const bool for_whole_names = has_section(ours == kNone ? theirs : ours);
      renames_parameters_ |= !for_whole_names && ours != kNone;
      rules_.push_back({std::move(pattern), std::string(ours), for_whole_names});
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}:{}: {}", source, number, error.what()));
    }
  }
}

std::optional<std::string> RenameRules::apply(Among among, const std::string& theirs) const {
  for (const Rule& rule : rules_) {
    if (rule.for_whole_names != (among == Among::kWholeNames)) continue;
    if (auto ours = rule.theirs.rewrite(theirs, rule.ours)) return ours;
  }
  return std::nullopt;
}

std::optional<std::string> RenameRules::parameter(const std::string& theirs) const {
  const auto ours = apply(Among::kParameters, theirs);
  if (!ours && renames_parameters_) {
    throw ConfigError(
        fmt::format("{}: expected a line that matches '{}', got none; '{} -> none' leaves it out",
                    source_, theirs, theirs));
  }
  if (ours == kNone) return std::nullopt;
  return ours.value_or(theirs);
}

std::optional<std::string> RenameRules::section_name(const std::string& theirs) const {
  auto ours = apply(Among::kWholeNames, theirs);
  if (!ours && !has_section(theirs)) ours = apply(Among::kParameters, theirs);
  const std::string name = ours.value_or(theirs);
  if (name == kNone) return std::nullopt;
  if (!name.starts_with("grad/in/")) return name;
  const auto input = section_name(name.substr(kGrad.size()));
  return input ? std::optional(std::string(kGrad) + *input) : std::nullopt;
}

std::optional<std::string> RenameRules::tensor(const std::string& theirs) const {
  const auto name = section_name(theirs);
  const size_t prefix = name ? parameter_prefix(*name) : 0;
  if (prefix == 0) return name;
  const auto path = parameter(name->substr(prefix));
  return path ? std::optional(name->substr(0, prefix) + *path) : std::nullopt;
}

}  // namespace axle
