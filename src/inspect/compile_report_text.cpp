// The two forms of a compile report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "inspect/compile_report.h"
#include "inspect/memory_shortage.h"
#include "inspect/text_table.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

std::string axes_text(const std::vector<std::string>& axes) {
  return axes.empty() ? "-" : join(axes, ", ");
}

std::string verdict(const CompileReport& r) {
  const auto text = [](int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  if (!r.too_large.empty()) {
    const auto shortage = read_memory_shortage(r.too_large);
    if (!shortage) return fmt::format("does not fit: {}\n", r.too_large);
    return fmt::format("does not fit: {}{} for {} a device, {} too much\n", text(shortage->needed),
                       shortage->of.empty() ? "" : " of " + shortage->of, text(shortage->available),
                       text(-*r.headroom_bytes()));
  }
  const auto headroom = r.headroom_bytes();
  if (!headroom) return "fits or not: not known\n";
  return fmt::format("{}: {} of {} a device, {} {}\n", *r.fits() ? "fits" : "does not fit",
                     text(r.memory->total_bytes()), text(r.device_memory_bytes),
                     text(std::abs(*headroom)), *r.fits() ? "to spare" : "too much");
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
  if (!r.collectives) return "collectives: not known\n";
  if (r.collectives->empty()) return "no collectives\n";
  TextTable table({"collective", "axes", "a step", "bytes a device", "pass", "op", "of"});
  for (const CollectiveRow& row : *r.collectives) {
    const std::vector<std::string> arguments = sent(r, row);
    table.add({row.kind, axes_text(row.axes),
               (row.at_least ? ">= " : "") + grouped_digits(row.count),
               bytes_text(static_cast<double>(row.bytes)), row.backward ? "backward" : "forward",
               row.op, arguments.empty() ? row.layer : join(arguments, ", ")});
  }
  return table.text();
}

Json collectives_json(const CompileReport& r) {
  if (!r.collectives) return nullptr;
  Json out = Json::array();
  for (const CollectiveRow& row : *r.collectives) {
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
  if (r.too_large.empty()) out += collectives_text(r);
  for (const std::string& warning : r.warnings) out += "warning: " + warning + "\n";
  out +=
      fmt::format("traced and lowered in {:.2f} s, compiled in {:.1f} s by {}\n", r.lower_seconds,
                  r.compile_seconds, fmt::join(split(r.platform_version, '\n'), ", "));
  if (!r.saved.empty()) out += fmt::format("saved as {}\n", r.saved.string());
  return out;
}

Json to_json(const CompileReport& r) {
  const auto fits = r.fits();
  const auto headroom = r.headroom_bytes();
  return {{"recipe", r.recipe},
          {"target", r.target},
          {"machine", r.machine},
          {"devices", r.num_devices},
          {"mesh", r.mesh},
          {"fits", fits ? Json(*fits) : Json(nullptr)},
          {"too_large", r.too_large.empty() ? Json(nullptr) : Json(r.too_large)},
          {"device_memory_bytes", r.device_memory_bytes},
          {"headroom_bytes", headroom ? Json(*headroom) : Json(nullptr)},
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
