#include "hlo/op_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text/text.h"

namespace axle {
namespace {

// A name of the form <before>(a:b)<after>, with the alternatives a and b.
struct Merged {
  std::string_view before, after;
  std::vector<std::string_view> alternatives;
};

// Finds the first parentheses that contain a colon at their own level. Other parentheses are part
// of a name.
std::optional<Merged> first_merged(std::string_view name) {
  for (size_t open = name.find('('); open != name.npos; open = name.find('(', open + 1)) {
    Merged out{.before = name.substr(0, open), .after = {}, .alternatives = {}};
    size_t start = open + 1;
    int depth = 0;
    for (size_t i = open; i < name.size(); ++i) {
      if (name[i] == '(') ++depth;
      if (name[i] == ')') --depth;
      if ((name[i] == ':' && depth == 1) || depth == 0) {
        out.alternatives.push_back(name.substr(start, i - start));
        start = i + 1;
      }
      if (depth > 0) continue;
      out.after = name.substr(i + 1);
      if (out.alternatives.size() > 1) return out;
      break;
    }
  }
  return std::nullopt;
}

constexpr size_t kMaxLocations = 256;

void expand(const std::string& name, std::vector<std::string>& out) {
  if (out.size() >= kMaxLocations) return;
  const auto merged = first_merged(name);
  if (!merged) {
    out.push_back(name);
    return;
  }
  for (const std::string_view alternative : merged->alternatives)
    expand(fmt::format("{}{}{}", merged->before, alternative, merged->after), out);
}

OpLocation parse_location(std::string_view name) {
  constexpr std::string_view kBackward = "backward/";
  OpLocation out;
  out.backward = name.starts_with(kBackward);
  if (out.backward) name.remove_prefix(kBackward.size());
  const size_t slash = name.rfind('/');
  out.op = name.substr(slash == name.npos ? 0 : slash + 1);
  out.layer = name.substr(0, slash == name.npos ? 0 : slash);
  return out;
}

}  // namespace

std::vector<OpLocation> op_locations(std::string_view op_name) {
  std::vector<OpLocation> out;
  if (op_name.empty()) return out;
  std::vector<std::string> names;
  expand(std::string(op_name), names);
  for (const std::string& name : names) {
    for (const std::string_view one : split(name, ';')) {
      OpLocation location = parse_location(one);
      if (std::ranges::find(out, location) == out.end()) out.push_back(std::move(location));
    }
  }
  return out;
}

bool is_loop_or_barrier(const OpLocation& location) {
  return location.op == "scan" ||
         (location.layer.empty() && location.op.starts_with("opt-barrier"));
}

std::string layer_text(const std::vector<OpLocation>& locations) {
  std::set<std::string> layers;
  for (const OpLocation& location : locations) {
    if (!location.layer.empty()) layers.insert(location.layer);
  }
  if (layers.empty()) return {};
  if (layers.size() == 1) return *layers.begin();
  auto segments = split(*layers.begin(), '/');
  for (const std::string& layer : layers) {
    const auto end = std::ranges::mismatch(segments, split(layer, '/')).in1;
    segments.erase(end, segments.end());
  }
  std::string common;
  for (const std::string_view segment : segments) common += fmt::format("{}/", segment);
  std::vector<std::string> rest;
  for (const std::string& layer : layers)
    rest.push_back(layer.size() < common.size() ? "." : layer.substr(common.size()));
  return fmt::format("{}{{{}}}", common, join(rest, ", "));
}

std::string op_text(const std::vector<OpLocation>& locations) {
  // Names without a layer are XLA's own. They are used only if there are no others.
  const bool ours = std::ranges::any_of(
      locations, [](const OpLocation& location) { return !location.layer.empty(); });
  std::set<std::string> ops;
  for (const OpLocation& location : locations) {
    if (!ours || !location.layer.empty()) ops.insert(location.op);
  }
  return join(std::vector<std::string>(ops.begin(), ops.end()), " + ");
}

namespace {

std::string called_text(const HloModule& module, const HloInstruction& instruction) {
  std::vector<std::string> names;
  for (const size_t i : instruction.called) names.push_back("%" + module.computations[i].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string line(const HloModule& module, const HloComputation& computation, size_t at) {
  const HloInstruction& instruction = computation.instructions[at];
  std::vector<std::string> operands;
  for (const size_t i : instruction.operands)
    operands.push_back("%" + computation.instructions[i].name);
  if (instruction.opcode == "parameter") operands = {std::to_string(instruction.parameter_number)};
  if (instruction.constant) operands = {std::to_string(*instruction.constant)};
  std::string out =
      fmt::format("  {}%{} = {} {}({})", at == computation.root ? "ROOT " : "", instruction.name,
                  to_text(instruction.shape), instruction.opcode, fmt::join(operands, ", "));
  const auto add = [&](std::string_view key, const auto& value) {
    out += fmt::format(", {}={}", key, value);
  };
  if (instruction.opcode == "get-tuple-element") add("index", instruction.tuple_index);
  if (!instruction.called.empty()) add("calls", called_text(module, instruction));
  if (!instruction.comparison.empty()) add("direction", instruction.comparison);
  if (!instruction.custom_call_target.empty())
    add("custom_call_target", fmt::format("\"{}\"", instruction.custom_call_target));
  if (!instruction.lhs_contracting.empty())
    add("lhs_contracting_dims", fmt::format("{{{}}}", fmt::join(instruction.lhs_contracting, ",")));
  if (instruction.known_trip_count) add("trip_count", *instruction.known_trip_count);
  if (instruction.channel_id) add("channel_id", instruction.channel_id);
  if (!instruction.op_name.empty()) add("op_name", fmt::format("\"{}\"", instruction.op_name));
  return out + "\n";
}

}  // namespace

std::string print(const HloModule& module) {
  std::string out = fmt::format("HloModule {}\n", module.name);
  for (size_t i = 0; i < module.computations.size(); ++i) {
    const HloComputation& computation = module.computations[i];
    out += fmt::format("\n{}%{} {{\n", i == module.entry ? "ENTRY " : "", computation.name);
    const auto& order = computation.sequence;
    for (size_t k = 0; k < computation.instructions.size(); ++k)
      out += line(module, computation, order.empty() ? k : order[k]);
    out += "}\n";
  }
  return out;
}

}  // namespace axle
