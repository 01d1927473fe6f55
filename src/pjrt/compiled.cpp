#include "pjrt/compiled.h"

#include <fmt/format.h>

#include <span>

#include "base/error.h"

namespace axle {

PjrtCompiled::PjrtCompiled(const Plugin& plugin, pjrt::Executable* executable,
                           const Program& program)
    : plugin_(plugin), name_(program.name), executable_(plugin, executable) {
  const std::string where = fmt::format("program '{}'", name_);
  if (!executable) throw DeviceError(fmt::format("{}: expected an executable, got none", where));
  pjrt::ExecutableNumOutputs count{.executable = executable};
  plugin.call(count, where);
  const bool is_text_alone =
      !program.graph && program.outputs.empty();  // then the signature is not known
  if (!is_text_alone && count.num_outputs != program.outputs.size()) {
    throw DeviceError(fmt::format("{}: expected {} results, got an executable with {}", where,
                                  program.outputs.size(), count.num_outputs));
  }
}

std::string PjrtCompiled::serialize() const {
  pjrt::ExecutableSerialize args{.executable = executable_.get()};
  plugin_.call(args, fmt::format("program '{}', to bytes", name_));
  std::string bytes(to_view(args.bytes));
  if (args.deleter) args.deleter(args.serialized);
  return bytes;
}

std::optional<MemoryStats> PjrtCompiled::memory() const {
  pjrt::ExecutableGetCompiledMemoryStats stats{.executable = executable_.get()};
  if (plugin_.try_call(stats)) return std::nullopt;
  return MemoryStats{.argument_bytes = stats.argument,
                     .output_bytes = stats.output,
                     .temporary_bytes = stats.temporary,
                     .alias_bytes = stats.alias,
                     .code_bytes = stats.code,
                     .host_bytes = stats.host_argument + stats.host_output + stats.host_temporary +
                                   stats.host_code,
                     .peak_bytes = stats.peak};
}

std::string PjrtCompiled::optimized_program() const {
  auto program = plugin_.padded(pjrt::Program{});
  pjrt::ExecutableOptimizedProgram args{.executable = executable_.get(), .program = &program.value};
  if (plugin_.try_call(args)) return {};
  std::string bytes(program.value.code_size, '\0');
  program.value.code = bytes.data();
  if (plugin_.try_call(args)) return {};
  return bytes;
}

std::map<std::string, double> PjrtCompiled::cost_analysis() const {
  using Kind = pjrt::NamedValue::Kind;
  std::map<std::string, double> out;
  pjrt::ExecutableGetCostAnalysis args{.executable = executable_.get()};
  if (plugin_.try_call(args) || !args.properties) return out;
  for (const auto& value : std::span(args.properties, args.num_properties)) {
    const std::string name(to_view(value.name));
    if (value.kind == Kind::kFloat) out[name] = value.float_value;
    if (value.kind == Kind::kInt64) out[name] = static_cast<double>(value.int64_value);
  }
  return out;
}

}  // namespace axle
