#include "comparison/rename.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

#include "base/error.h"
#include "base/text/text.h"
#include "ir/type.h"
#include "lower/stablehlo.h"

namespace axle {
namespace {

constexpr uint32_t kMaxSteps = 10'000'000;  // of one match

// Converts a pattern to a regular expression. Parentheses and | keep their meaning, * and ** are
// translated, and other punctuation is escaped.
std::string regex_of(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (pattern.substr(i).starts_with("**")) {
      out += ".*";
      ++i;
    } else if (c == '*') {
      out += "[^/]*";
    } else if (c == '/' && (out.ends_with(".*") || out.ends_with(".*)"))) {
      out += "(?:/|^|(?<=/))";
    } else if (std::ispunct(static_cast<unsigned char>(c)) && c != '(' && c != ')' && c != '|') {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

Regex compiled(std::string_view pattern) {
  try {
    return Regex("(?s)" + regex_of(pattern), kMaxSteps);  // "." also matches a newline
  } catch (const ConfigError&) {
    throw ConfigError(fmt::format("expected balanced parentheses, got '{}'", pattern));
  }
}

// Calls literal(text) and group(number) for the parts of "qkv/$1_proj/$2".
template <class Literal, class Group>
void read_replacement(std::string_view replacement, Literal literal, Group group) {
  for (size_t i = 0; i < replacement.size(); ++i) {
    const bool is_sign = replacement[i] == '$' && i + 1 < replacement.size();
    if (is_sign && replacement[i + 1] == '$') {
      literal(replacement.substr(++i, 1));
    } else if (is_sign && std::isdigit(static_cast<unsigned char>(replacement[i + 1]))) {
      group(static_cast<uint32_t>(replacement[++i] - '0'));
    } else {
      literal(replacement.substr(i, 1));
    }
  }
}

std::string without_empty_segments(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace

PathPattern::PathPattern(std::string_view pattern) : text_(pattern), regex_(compiled(pattern)) {}

std::optional<std::vector<std::string>> PathPattern::match(std::string_view path) const {
  try {
    return regex_.match(path);
  } catch (const ConfigError&) {
    throw ConfigError(fmt::format("expected a pattern that matches quickly, got '{}' for '{}'",
                                  text_, path.substr(0, 80)));
  }
}

bool PathPattern::matches(std::string_view path) const { return match(path).has_value(); }

std::optional<std::string> PathPattern::rewrite(std::string_view path,
                                                std::string_view replacement) const {
  const auto groups = match(path);
  if (!groups) return std::nullopt;
  std::string out;
  read_replacement(
      replacement, [&](std::string_view text) { out += text; },
      [&](uint32_t group) { out += groups->at(group); });
  return without_empty_segments(out);
}

void PathPattern::check_replacement(std::string_view replacement) const {
  const uint32_t num_groups = regex_.num_groups();
  read_replacement(
      replacement, [](std::string_view) {},
      [&](uint32_t group) {
        if (group == 0 || group > num_groups) {
          throw ConfigError(fmt::format("expected $1 to ${}, the groups of '{}', got ${}",
                                        num_groups, text_, group));
        }
      });
}

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

Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<HostTensor>& arguments, const Mesh& mesh) {
  return trace_named(program_name, fn, types_of(arguments), mesh);
}

Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<Type>& arguments, const Mesh& mesh) {
  std::vector<ProgramValue> inputs, outputs;
  for (const auto& [name, type] : arguments) inputs.push_back({.name = name, .type = type});
  const TensorFunction unnamed = [&](const Values& values) {
    Tree<Tensor> named;
    for (size_t i = 0; i < values.size(); ++i) named.emplace(inputs[i].name, values[i]);
    Values results;
    for (const auto& [name, value] : fn(named)) {
      outputs.push_back({.name = name, .type = value.type()});
      results.push_back(value);
    }
    return results;
  };
  return trace_program(program_name, unnamed, inputs, outputs, mesh);
}

std::vector<std::string> unread_inputs(const Program& program) {
  std::unordered_set<Tensor, TensorHash, TensorSame> read(program.graph->results().begin(),
                                                          program.graph->results().end());
  for (const OpNode* op : program.graph->ops()) read.insert(op->inputs.begin(), op->inputs.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (!read.contains(program.graph->parameters()[i])) out.push_back(program.inputs[i].name);
  }
  return out;
}

NamedExecutable::NamedExecutable(Program program, Runtime& runtime)
    : program_(std::move(program)), runtime_(runtime), executable_(runtime.compile(program_)) {}

Tree<HostTensor> NamedExecutable::operator()(const Tree<HostTensor>& arguments) const {
  Arrays arrays;
  for (const ProgramValue& input : program_.inputs)
    arrays.push_back(runtime_.make_array(arguments.at(input.name), input.sharding, program_.mesh));
  const Arrays results = executable_->execute(arrays);
  Tree<HostTensor> out;
  for (size_t i = 0; i < results.size(); ++i)
    out.emplace(program_.outputs[i].name, results[i]->to_host());
  return out;
}

Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime) {
  return NamedExecutable(trace_named(program_name, fn, arguments), runtime)(arguments);
}

}  // namespace axle
