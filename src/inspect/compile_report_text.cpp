// The two forms of a compile report.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "inspect/compile_report.h"
#include "inspect/text_table.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string axes_text(const std::vector<std::string>& axes) {
  return axes.empty() ? "-" : join(axes, ", ");
}

std::string verdict(const CompileReport& r) {
  if (!r.too_large.empty()) return fmt::format("does not fit: {}\n", r.too_large);
  if (!r.fits()) return "fits or not: not known\n";
  const auto total = static_cast<double>(r.memory->total_bytes());
  const auto has = static_cast<double>(r.device_memory_bytes);
  return fmt::format("{}: {} of {} a device, {} {}\n", *r.fits() ? "fits" : "does not fit",
                     bytes_text(total), bytes_text(has), bytes_text(std::abs(has - total)),
                     *r.fits() ? "to spare" : "too much");
}

std::string memory_text(const MemoryStats& m) {
  TextTable table({"bytes of a device", ""});
  const auto row = [&](const char* what, int64_t bytes) {
    table.add({what, bytes_text(static_cast<double>(bytes))});
  };
  row("arguments", m.argument_bytes);
  row("results", m.output_bytes);
  row("  of these in place of arguments", m.alias_bytes);
  row("temporaries", m.temporary_bytes);
  row("code", m.code_bytes);
  row("in the host's memory", m.host_bytes);
  return table.text();
}

// What a collective sends: parameters and other arguments by name, the rest by the layer that
// computes it.
std::vector<std::string> sent(const CompileReport& r, const CollectiveRow& row) {
  std::vector<std::string> out;
  for (const int64_t i : row.arguments) {
    if (i >= 0) out.push_back(r.arguments.at(static_cast<size_t>(i)));
  }
  return out;
}

std::string collectives_text(const CompileReport& r) {
  if (r.collectives.empty()) return "no collectives\n";
  TextTable table({"collective", "axes", "a step", "bytes a device", "pass", "op", "of"});
  for (const CollectiveRow& row : r.collectives) {
    const std::vector<std::string> arguments = sent(r, row);
    table.add({row.kind, axes_text(row.axes),
               (row.at_least ? ">= " : "") + grouped_digits(row.count),
               bytes_text(static_cast<double>(row.bytes)), row.backward ? "backward" : "forward",
               row.op, arguments.empty() ? row.layer : join(arguments, ", ")});
  }
  return table.text();
}

Json collectives_json(const CompileReport& r) {
  Json out = Json::array();
  for (const CollectiveRow& row : r.collectives) {
    out.push_back({{"kind", row.kind},
                   {"axes", row.axes},
                   {"count", row.count},
                   {"count_is_at_least", row.at_least},
                   {"bytes", row.bytes},
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
  out += verdict(r);
  if (r.memory) out += memory_text(*r.memory);
  out += fmt::format("a step: {:.4g} FLOPs and {} moved by the graph, {:.4g} FLOPs a device\n",
                     r.cost.flops, bytes_text(r.cost.bytes),
                     r.cost.flops / static_cast<double>(r.num_devices));
  if (r.memory) out += collectives_text(r);
  for (const std::string& warning : r.warnings) out += "warning: " + warning + "\n";
  out += fmt::format("traced and lowered in {:.2f} s, compiled in {:.1f} s by {}\n",
                     r.lower_seconds, r.compile_seconds, r.platform_version);
  if (!r.saved.empty()) out += fmt::format("saved as {}\n", r.saved.string());
  return out;
}

Json to_json(const CompileReport& r) {
  const auto fits = r.fits();
  return {{"recipe", r.recipe},
          {"target", r.target},
          {"machine", r.machine},
          {"devices", r.num_devices},
          {"mesh", r.mesh},
          {"fits", fits ? Json(*fits) : Json(nullptr)},
          {"too_large", r.too_large.empty() ? Json(nullptr) : Json(r.too_large)},
          {"device_memory_bytes", r.device_memory_bytes},
          {"headroom_bytes", r.memory && r.device_memory_bytes > 0
                                 ? Json(r.device_memory_bytes - r.memory->total_bytes())
                                 : Json(nullptr)},
          {"memory", memory_json(r)},
          {"flops", r.cost.flops},
          {"bytes", r.cost.bytes},
          {"flops_per_device", r.cost.flops / static_cast<double>(r.num_devices)},
          {"compiler_cost", r.compiler_cost},
          {"collectives", collectives_json(r)},
          {"warnings", r.warnings},
          {"lower_seconds", r.lower_seconds},
          {"compile_seconds", r.compile_seconds},
          {"platform_version", r.platform_version},
          {"saved", r.saved.empty() ? Json(nullptr) : Json(r.saved.string())}};
}

}  // namespace axle
