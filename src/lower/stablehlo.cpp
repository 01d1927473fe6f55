#include "lower/stablehlo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "lower/text_builder.h"
#include "transform/simplify.h"
#include "transform/trace.h"

namespace axle {

Program trace_program(std::string name, const TensorFunction& fn, std::vector<ProgramValue> inputs,
                      const std::vector<ProgramValue>& outputs, const Mesh& mesh,
                      std::vector<CollectedTap>* prints) {
  std::vector<Type> types;
  std::vector<std::string> names;
  for (const ProgramValue& v : inputs) {
    types.push_back(v.type);
    names.push_back(v.name);
  }
  std::shared_ptr<const Region> traced = trace(fn, types, names);
  std::vector<ProgramValue> all = outputs;
  if (prints) {
    Tapped tapped = collect_taps(*traced, Collect::kPrints);
    traced = std::move(tapped.region);
    *prints = std::move(tapped.taps);
    for (size_t i = all.size(); i < traced->results().size(); ++i)
      all.push_back({fmt::format("debug_print/{}", i), traced->results()[i].type()});
  }
  auto graph = simplify(*without_effects(std::move(traced)));
  return lower(std::move(graph), std::move(name), std::move(inputs), std::move(all), mesh);
}

namespace {

void check_partitions(const std::vector<ProgramValue>& values, const Mesh& mesh) {
  for (const ProgramValue& v : values) check_partition(v.name, v.type.dims, v.sharding, mesh);
}

// Writes the text of the program from its graph.
void write_text(Program& program, const LoweringTarget& target) {
  const Mesh& mesh = program.mesh;
  const int64_t num_devices = mesh.num_devices();
  std::string text = fmt::format(
      "module @{} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n",
      program.name, num_devices);
  if (num_devices > 1) {
    std::vector<std::string> axes;
    for (const MeshAxis& axis : mesh.axes) {
      if (axis.size > 1) axes.push_back(fmt::format("\"{}\"={}", axis.name, axis.size));
    }
    fmt::format_to(std::back_inserter(text), "  sdy.mesh @mesh = <[{}]>\n", fmt::join(axes, ", "));
  }
  const auto attributes = [&](const ProgramValue& value, bool is_input) {
    std::vector<std::string> parts;
    if (num_devices > 1)
      parts.push_back("sdy.sharding = #sdy.sharding" +
                      sdy_sharding(value.sharding, value.type.rank(), mesh));
    if (is_input && value.donated_to >= 0)
      parts.push_back(fmt::format("tf.aliasing_output = {} : i32", value.donated_to));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  std::vector<Type> parameters, results;
  std::vector<std::string> parameter_attributes, result_attributes;
  for (const ProgramValue& v : program.inputs) {
    parameters.push_back(v.type);
    parameter_attributes.push_back(attributes(v, true));
  }
  for (const ProgramValue& v : program.outputs) {
    results.push_back(v.type);
    result_attributes.push_back(attributes(v, false));
  }
  TextBuilder builder(mesh, target);
  builder.function(
      "public", "main", parameters, parameter_attributes, result_attributes, results,
      [&](const HloValues& arguments) { return builder.inline_region(*program.graph, arguments); });
  program.text = text + builder.take() + "}\n";
  program.depends_on_target = builder.depends_on_target();
  program.choices = builder.choices();
}

}  // namespace

Program lower(std::shared_ptr<const Region> graph, std::string name,
              std::vector<ProgramValue> inputs, std::vector<ProgramValue> outputs, Mesh mesh) {
  AXLE_CHECK(
      inputs.size() == graph->parameters().size() && outputs.size() == graph->results().size(),
      "one name for each input and output");
  for (size_t i = 0; i < inputs.size(); ++i)
    AXLE_CHECK(inputs[i].type == graph->parameters()[i].type(), inputs[i].name);
  for (size_t i = 0; i < outputs.size(); ++i)
    AXLE_CHECK(outputs[i].type == graph->results()[i].type(), outputs[i].name);
  check_partitions(inputs, mesh);
  check_partitions(outputs, mesh);
  Program program{.name = std::move(name),
                  .graph = std::move(graph),
                  .text = {},
                  .inputs = std::move(inputs),
                  .outputs = std::move(outputs),
                  .mesh = std::move(mesh)};
  write_text(program, {});
  return program;
}

Program lowered_for(const Program& program, const LoweringTarget& target) {
  Program out = program;
  if (!program.depends_on_target || !program.graph) return out;
  write_text(out, target);
  out.depends_on_target = false;
  return out;
}

Program without_donation(Program program) {
  for (ProgramValue& input : program.inputs) input.donated_to = -1;
  write_text(program, {});
  return program;
}

std::string without_locations(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const auto line = std::string_view(text).substr(at, end - at);
    out.append(line.substr(0, line.rfind(" loc(\""))).append("\n");
    at = end + 1;
  }
  return out;
}

}  // namespace axle
