#include "pjrt/executable.h"

#include <fmt/format.h>

#include <span>

#include "base/error.h"
#include "ir/devices/sharding.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/arguments.h"
#include "targets/device_order.h"

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

namespace {

pjrt::Executable* executable_of(const Plugin& plugin, pjrt::LoadedExecutable* loaded,
                                const std::string& name) {
  const std::string where = fmt::format("program '{}'", name);
  if (!loaded) throw DeviceError(fmt::format("{}: expected an executable, got none", where));
  pjrt::LoadedExecutableGetExecutable get{.loaded = loaded};
  plugin.call(get, where);
  return get.executable;
}

/// True if each device already holds the shard that a program over `mesh` expects there for an
/// argument with `layout`.
bool same_placement(const PjrtArray& array, const Shape& dims, const PartitionSpec& layout,
                    const Mesh& mesh) {
  if (array.mesh() == mesh) return array.layout() == layout;
  const auto& topology = array.client().topology();
  return array.mesh().num_devices() == mesh.num_devices() &&
         device_order(topology, array.mesh()) == device_order(topology, mesh) &&
         shard_slices(dims, array.layout(), array.mesh()) == shard_slices(dims, layout, mesh);
}

}  // namespace

PjrtExecutable::PjrtExecutable(std::shared_ptr<const PjrtClient> client,
                               pjrt::LoadedExecutable* loaded, const Program& program)
    : client_(std::move(client)),
      mesh_(program.mesh),
      inputs_(program.inputs),
      outputs_(program.outputs),
      loaded_(client_->plugin(), loaded),
      compiled_(client_->plugin(), executable_of(client_->plugin(), loaded, program.name),
                program) {
  for (const auto& input : program.inputs) {
    layouts_.push_back(canonical_sharding(input.sharding, input.type.rank(), mesh_));
  }
}

PjrtArray& PjrtExecutable::checked(size_t i, const ArrayPtr& argument) const {
  const auto where = [&] {
    return fmt::format("program '{}', argument {} '{}'", compiled_.name(), i, inputs_[i].name);
  };
  auto* array = dynamic_cast<PjrtArray*>(argument.get());
  if (!array || &array->client() != client_.get()) {
    throw ShapeError(
        fmt::format("{}: expected an array of this runtime, got one of another", where()));
  }
  if (!same_placement(*array, inputs_[i].type.dims, layouts_[i], mesh_)) {
    throw ShapeError(fmt::format(
        "{}: expected sharding {} over {} devices, got {} over {}{}", where(), to_text(layouts_[i]),
        mesh_.num_devices(), to_text(array->layout()), array->mesh().num_devices(),
        array->mesh() == mesh_ ? "" : fmt::format(" of mesh {}", to_text(array->mesh()))));
  }
  return *array;
}

void PjrtExecutable::take_donated(std::span<const ArrayPtr> arguments,
                                  const std::vector<PjrtArray::Shards>& shards,
                                  bool started) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (inputs_[i].donated_to < 0) continue;
    // A run that failed to start may have consumed some of its inputs already.
    pjrt::BufferIsDeleted deleted{.buffer = (*shards[i])[0].get()};
    if (started || (!client_->plugin().try_call(deleted) && deleted.is_deleted)) {
      static_cast<PjrtArray&>(*arguments[i]).mark_donated(compiled_.name());
    }
  }
}

Arrays PjrtExecutable::execute(std::span<const ArrayPtr> arguments) {
  check_arguments(compiled_.name(), inputs_, arguments);
  const auto num_devices = static_cast<size_t>(mesh_.num_devices());
  // Keeps the buffers alive while the program reads them, even if their arrays are dropped.
  std::vector<PjrtArray::Shards> held;
  for (size_t i = 0; i < arguments.size(); ++i) held.push_back(checked(i, arguments[i]).shards());

  std::vector<std::vector<pjrt::Buffer*>> in(num_devices), out(num_devices);
  std::vector<pjrt::Buffer* const*> in_rows;
  std::vector<pjrt::Buffer**> out_rows;
  for (size_t d = 0; d < num_devices; ++d) {
    for (const auto& shards : held) in[d].push_back((*shards)[d].get());
    out[d].resize(outputs_.size());
    in_rows.push_back(in[d].data());
    out_rows.push_back(out[d].data());
  }
  std::vector<pjrt::Event*> events(num_devices);
  const auto& plugin = client_->plugin();
  auto options = plugin.padded(pjrt::ExecuteOptions{});
  pjrt::LoadedExecutableExecute args{.executable = loaded_.get(),
                                     .options = &options.value,
                                     .arguments = in_rows.data(),
                                     .num_devices = num_devices,
                                     .num_args = inputs_.size(),
                                     .outputs = out_rows.data(),
                                     .device_complete_events = events.data()};
  const auto failure = plugin.try_call(args);
  take_donated(arguments, held, !failure);
  if (failure) throw_failure(fmt::format("program '{}'", compiled_.name()), *failure);

  const auto launch = std::make_shared<PjrtLaunch>(client_, compiled_.name(), std::move(events));
  Arrays results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<PjrtBuffer> shards;
    for (size_t d = 0; d < num_devices; ++d) shards.emplace_back(plugin, out[d][i]);
    results.push_back(std::make_shared<PjrtArray>(client_, outputs_[i].type, outputs_[i].sharding,
                                                  mesh_, std::move(shards), launch));
  }
  return results;
}

}  // namespace axle
