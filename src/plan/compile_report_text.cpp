#include "plan/compile_report_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "lower/stablehlo.h"
#include "ops/ops.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/compiler.h"
#include "pjrt/plugin/find_plugin.h"
#include "plan/memory_needs.h"
#include "runtime/mesh_devices.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string axes_text(const std::vector<std::string>& axes) {
  return axes.empty() ? "-" : join(axes, ", ");
}

std::string verdict(const CompileReport& r) {
  const auto text = [](int64_t bytes) { return bytes_text(bytes); };
  if (!r.too_large_message.empty()) {
    const auto shortage = read_memory_shortage(r.too_large_message);
    if (!shortage) return fmt::format("does not fit: {}\n", r.too_large_message);
    return fmt::format("does not fit: {}{} for {} per device, {} too much\n",
                       text(shortage->needed), shortage->of.empty() ? "" : " of " + shortage->of,
                       text(shortage->available), text(-*r.headroom_bytes()));
  }
  const auto headroom = r.headroom_bytes();
  if (!headroom) return "fits: not known\n";
  std::string out =
      fmt::format("{}: {} of {} per device, {} {}\n", *r.fits() ? "fits" : "does not fit",
                  text(r.memory->total_bytes()), text(r.device_memory_bytes),
                  text(std::abs(*headroom)), *r.fits() ? "to spare" : "too much");
  if (r.whole_memory_bytes > r.device_memory_bytes) {
    out +=
        fmt::format("({} of the device's {} are reserved for its context and for collectives)\n",
                    text(r.whole_memory_bytes - r.device_memory_bytes), text(r.whole_memory_bytes));
  }
  return out;
}

std::string memory_text(const MemoryStats& m) {
  TextTable table({"bytes per device", ""});
  const auto row = [&](const char* what, int64_t bytes) { table.add({what, bytes_text(bytes)}); };
  row("arguments", m.argument_bytes);
  row("results", m.output_bytes);
  row("  of these aliased to arguments", m.alias_bytes);
  row("temporaries", m.temporary_bytes);
  row("code", m.code_bytes);
  row("in the host's memory", m.host_bytes);
  return table.text();
}

// Returns the names of the program's arguments (parameters and others) that the collectives of a
// row send. Empty if they send computed values only; a report then shows the layer.
std::vector<std::string> sent(const CompileReport& r, const CollectiveRow& row) {
  std::vector<std::string> out;
  for (const int64_t i : row.arguments) {
    if (i >= 0) out.push_back(r.arguments.at(static_cast<size_t>(i)));
  }
  return out;
}

// Returns "all-reduce" or "all-reduce (for reduce-scatter)".
std::string kind_text(const CollectiveRow& row) {
  return row.implemented_kind.empty() ? row.kind
                                      : fmt::format("{} (for {})", row.kind, row.implemented_kind);
}

struct KindSum {
  int64_t count = 0;
  double bytes = 0;
  WireBytes wire = {};
};

std::map<std::string, KindSum> sums_by_kind(const CompileReport& r) {
  std::map<std::string, KindSum> out;
  for (const CollectiveRow& row : *r.collectives) {
    KindSum& sum = out[kind_text(row)];
    sum.count += row.count;
    sum.bytes += static_cast<double>(row.bytes);
    sum.wire.fast += row.wire.fast;
    sum.wire.slow += row.wire.slow;
  }
  return out;
}

std::string collectives_text(const CompileReport& r) {
  if (!r.collectives) {
    return fmt::format(
        "collectives: not known{}\n",
        r.unreadable_reason.empty() ? "" : fmt::format(" ({})", r.unreadable_reason));
  }
  if (r.collectives->empty()) return "no collectives\n";
  TextTable table({"collective", "axes", "per step", "bytes per device", "sent fast", "sent slow",
                   "pass", "op", "parameters or layer"});
  for (const CollectiveRow& row : *r.collectives) {
    const std::vector<std::string> arguments = sent(r, row);
    table.add({kind_text(row), axes_text(row.axes),
               (row.is_lower_bound ? ">= " : "") + grouped_digits(row.count), bytes_text(row.bytes),
               bytes_text(row.wire.fast), bytes_text(row.wire.slow), pass_text(row.backward),
               row.op, arguments.empty() ? row.layer : join(arguments, ", ")});
  }
  TextTable sums({"sum by kind", "per step", "bytes per device", "sent fast", "sent slow"});
  for (const auto& [kind, sum] : sums_by_kind(r)) {
    sums.add({kind, grouped_digits(sum.count), bytes_text(sum.bytes), bytes_text(sum.wire.fast),
              bytes_text(sum.wire.slow)});
  }
  return table.text() + sums.text();
}

std::string largest_text(const CompileReport& r) {
  if (r.largest.empty()) return {};
  TextTable table({r.largest_are_estimates ? "largest values, estimated" : "largest temporaries",
                   "values", r.largest_are_estimates ? "shape/devices" : "shape", "pass", "op",
                   "layer"});
  for (const TemporaryBuffer& one : r.largest) {
    table.add({bytes_text(one.bytes), grouped_digits(one.count), one.shape, pass_text(one.backward),
               one.op, one.layer});
  }
  return table.text();
}

std::string size_text(const CompileReport& r) {
  std::string out = fmt::format("{} parameters", grouped_digits(r.num_parameters));
  if (r.size.tokens > 0)
    out += fmt::format(", {} tokens per step", grouped_digits(std::llround(r.size.tokens)));
  return out + fmt::format(", {:.4g} model FLOPs per step\n", r.size.model_flops);
}

std::string estimate_text(const CompileReport& r) {
  if (!r.estimate) return "step time: not known\n";
  const StepEstimate& e = *r.estimate;
  return fmt::format(
      "a step takes at least {}, bound by {}: {:.4g} tokens/s, MFU at most {:.1f} % of the bf16 "
      "peak\n  (compute {}, memory {}, fast network {}, slow network {}; {} of network time "
      "without computation)\n",
      seconds_text(e.seconds), e.bound, e.tokens_per_second, 100 * e.mfu,
      seconds_text(e.compute_seconds), seconds_text(e.memory_seconds),
      seconds_text(e.fast_network_seconds), seconds_text(e.slow_network_seconds),
      seconds_text(e.waiting_seconds));
}

// Shows the work of the graph, a device's share of it, and the device's work as compiled. The last
// is more than the share if devices repeat each other's work or the compiler recomputes.
std::string work_text(const CompileReport& r) {
  const double share = r.cost.flops / static_cast<double>(r.num_devices);
  std::string out =
      fmt::format("work: {:.4g} FLOPs and {} moved by the graph, {:.4g} FLOPs per device",
                  r.cost.flops, bytes_text(r.cost.bytes), share);
  if (r.work) out += fmt::format("; {:.4g} FLOPs of products as compiled", r.work->product_flops);
  return out + "\n";
}

Json work_json(const CompileReport& r) {
  if (!r.work) return nullptr;
  return {{"product_flops", r.work->product_flops},
          {"memory_bytes", r.work->memory_bytes},
          {"is_at_least", r.work->is_lower_bound}};
}

Json estimate_json(const CompileReport& r) {
  if (!r.estimate) return nullptr;
  const StepEstimate& e = *r.estimate;
  return {{"seconds", e.seconds},
          {"bound", e.bound},
          {"compute_seconds", e.compute_seconds},
          {"memory_seconds", e.memory_seconds},
          {"fast_network_seconds", e.fast_network_seconds},
          {"slow_network_seconds", e.slow_network_seconds},
          {"waiting_seconds", e.waiting_seconds},
          {"tokens_per_second", e.tokens_per_second},
          {"mfu", e.mfu}};
}

Json sums_json(const CompileReport& r) {
  if (!r.collectives) return nullptr;
  Json out = Json::object();
  for (const auto& [kind, sum] : sums_by_kind(r)) {
    out[kind] = {{"count", sum.count},
                 {"bytes", sum.bytes},
                 {"sent_fast_bytes", sum.wire.fast},
                 {"sent_slow_bytes", sum.wire.slow}};
  }
  return out;
}

Json gathers_json(const CompileReport& r) {
  if (!r.collectives) return nullptr;
  Json out = Json::array();
  for (const ArgumentGathers& one : r.gathers) {
    out.push_back({{"argument", r.arguments.at(static_cast<size_t>(one.argument))},
                   {"backward", one.backward},
                   {"times", one.times},
                   {"bytes", one.bytes}});
  }
  return out;
}

Json largest_json(const CompileReport& r) {
  Json out = Json::array();
  for (const TemporaryBuffer& one : r.largest) {
    out.push_back({{"bytes", one.bytes},
                   {"count", one.count},
                   {"shape", one.shape},
                   {"layer", one.layer},
                   {"op", one.op},
                   {"backward", one.backward}});
  }
  return out;
}

Json collectives_json(const CompileReport& r) {
  if (!r.collectives) return nullptr;
  Json out = Json::array();
  for (const CollectiveRow& row : *r.collectives) {
    out.push_back({{"kind", row.kind},
                   {"axes", row.axes},
                   {"count", row.count},
                   {"count_is_at_least", row.is_lower_bound},
                   {"bytes", row.bytes},
                   {"sent_fast_bytes", row.wire.fast},
                   {"sent_slow_bytes", row.wire.slow},
                   {"in_place_of", row.implemented_kind},
                   {"in_loop", row.in_loop},
                   {"waits", row.waits},
                   {"layer", row.layer},
                   {"op", row.op},
                   {"backward", row.backward},
                   {"arguments", sent(r, row)}});
  }
  return out;
}

Json memory_json(const CompileReport& r) {
  if (!r.memory) return nullptr;
  const MemoryStats& m = *r.memory;
  return {{"argument_bytes", m.argument_bytes}, {"output_bytes", m.output_bytes},
          {"alias_bytes", m.alias_bytes},       {"temporary_bytes", m.temporary_bytes},
          {"code_bytes", m.code_bytes},         {"host_bytes", m.host_bytes},
          {"total_bytes", m.total_bytes()},     {"peak_bytes", m.peak_bytes}};
}

}  // namespace

std::string to_text(const CompileReport& r) {
  std::string out =
      fmt::format("{} for {} ({}), {} device{} as {}\n", r.recipe, r.target, r.machine,
                  r.num_devices, r.num_devices == 1 ? "" : "s", r.mesh.empty() ? "one" : r.mesh);
  out += mesh_rule_text(r.resolution);
  out += verdict(r);
  out += size_text(r);
  if (r.too_large_message.empty()) out += estimate_text(r);
  if (r.memory) out += memory_text(*r.memory);
  out += largest_text(r) + work_text(r);
  if (r.too_large_message.empty()) out += collectives_text(r);
  for (const Finding& finding : r.findings) out += "note: " + to_text(finding) + "\n";
  for (const std::string& warning : r.compiler_warnings) out += "compiler: " + warning + "\n";
  for (const std::string& warning : r.warnings) out += "warning: " + warning + "\n";
  out += fmt::format("traced and lowered in {:.2f} s, compiled in {:.1f} s by {}\n",
                     r.lower_seconds, r.compile_seconds, fmt::join(split(r.compiler, '\n'), ", "));
  if (!r.saved.empty()) out += fmt::format("saved as {}\n", r.saved.string());
  return out;
}

Json to_json(const CompileReport& r) {
  const auto fits = r.fits();
  const auto headroom = r.headroom_bytes();
  const std::string& rule = r.resolution.mesh_rule;
  return {{"recipe", r.recipe},
          {"target", r.target},
          {"machine", r.machine},
          {"devices", r.num_devices},
          {"mesh", r.mesh},
          {"mesh_rule", rule.empty() ? Json(nullptr) : Json(rule)},
          {"unmatched_mesh_rules", r.resolution.unmatched_rules},
          {"fits", fits ? Json(*fits) : Json(nullptr)},
          {"too_large", r.too_large_message.empty() ? Json(nullptr) : Json(r.too_large_message)},
          {"device_memory_bytes", r.device_memory_bytes},
          {"whole_memory_bytes", r.whole_memory_bytes},
          {"headroom_bytes", headroom ? Json(*headroom) : Json(nullptr)},
          {"memory", memory_json(r)},
          {"largest_temporaries", largest_json(r)},
          {"largest_are_estimates", r.largest_are_estimates},
          {"parameters", r.num_parameters},
          {"tokens_per_step", r.size.tokens},
          {"model_flops", r.size.model_flops},
          {"step", estimate_json(r)},
          {"work_of_a_device", work_json(r)},
          {"flops", r.cost.flops},
          {"bytes", r.cost.bytes},
          {"flops_per_device", r.cost.flops / static_cast<double>(r.num_devices)},
          {"compiler_cost", r.compiler_cost},
          {"collectives", collectives_json(r)},
          {"collective_sums", sums_json(r)},
          {"gathers", gathers_json(r)},
          {"unreadable", r.unreadable_reason.empty() ? Json(nullptr) : Json(r.unreadable_reason)},
          {"findings", to_texts(r.findings)},
          {"compiler_warnings", r.compiler_warnings},
          {"warnings", r.warnings},
          {"lower_seconds", r.lower_seconds},
          {"compile_seconds", r.compile_seconds},
          {"compiler", r.compiler},
          {"saved", r.saved.empty() ? Json(nullptr) : Json(r.saved.string())}};
}

Json to_json(const RefusedMeshError& error, const Resolved& resolved, const Target& target) {
  // Only the first fields of a report are known.
  const Json begin = to_json(CompileReport{.recipe = resolved.report.recipe,
                                           .target = to_text(target),
                                           .machine = target.machine(),
                                           .resolution = resolved.report,
                                           .num_devices = target.num_devices(),
                                           .mesh = to_text(resolved.config.mesh)});
  Json out;
  for (const char* key :
       {"recipe", "target", "machine", "devices", "mesh", "mesh_rule", "unmatched_mesh_rules"})
    out[key] = begin.at(key);
  out["fits"] = error.state.fits() == false ? Json(false) : Json(nullptr);
  out["refused"] = error.reason;
  out["training_state"] = to_json(error.state);
  return out;
}

std::vector<std::string> compiler_option_problems(const std::map<std::string, std::string>& options,
                                                  const Target& target) {
  std::vector<std::string> out;
  const PluginPolicy policy = plugin_policy(target.accelerator.platform);
  if (policy.device_count_option.empty()) return out;
  const ProgramValue number{.name = "x", .type = {DType::kF32, {}}, .sharding = {}};
  const Program sum =
      trace_program("sum", [](const Values& x) { return Values{x[0] + x[0]}; }, {number}, {number});
  try {
    check_device_count(to_text(target), target.num_devices());
    check_user_settings(options.size());
    if (options.empty() || !find_plugin_file(policy)) return out;
    const auto compiler = make_compiler(target);
    // One option at a time, because a compiler reports only the first that it refuses.
    for (const auto& option : options) {
      try {
        compiler->compile(sum, {.overrides = {option}});
      } catch (const ConfigError& error) {
        out.emplace_back(error.what());
      }
    }
  } catch (const ConfigError& error) {
    out.emplace_back(error.what());
  } catch (const DeviceError&) {
    // An unusable plugin is not an error in the config.
  }
  return out;
}

}  // namespace axle
