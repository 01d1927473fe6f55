#include "runtime/pjrt_executable.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/sharding.h"
#include "runtime/signature.h"

namespace axle {

PjrtExecutable::PjrtExecutable(std::shared_ptr<const PjrtClient> client,
                               pjrt::LoadedExecutable* loaded, const Program& program)
    : client_(std::move(client)),
      name_(program.name),
      mesh_(program.mesh),
      inputs_(program.inputs),
      outputs_(program.outputs),
      loaded_(client_->plugin(), loaded) {
  const std::string where = fmt::format("program '{}'", name_);
  if (!loaded) throw DeviceError(fmt::format("{}: expected an executable, got none", where));
  for (const auto& input : program.inputs) {
    layouts_.push_back(canonical_sharding(input.sharding, input.type.rank(), mesh_));
  }
  const auto& plugin = client_->plugin();
  pjrt::LoadedExecutableGetExecutable get{.loaded = loaded};
  plugin.call(get, where);
  executable_ = {plugin, get.executable};
  pjrt::ExecutableNumOutputs count{.executable = executable_.get()};
  plugin.call(count, where);
  if (count.num_outputs != outputs_.size()) {
    throw DeviceError(fmt::format("{}: expected {} results, got an executable with {}", where,
                                  outputs_.size(), count.num_outputs));
  }
}

PjrtArray& PjrtExecutable::checked(size_t i, const ArrayPtr& argument) const {
  const auto where = [&] {
    return fmt::format("program '{}', argument {} '{}'", name_, i, inputs_[i].name);
  };
  auto* array = dynamic_cast<PjrtArray*>(argument.get());
  if (!array || &array->client() != client_.get()) {
    throw ShapeError(
        fmt::format("{}: expected an array of this runtime, got one of another", where()));
  }
  if (array->layout() != layouts_[i] || array->mesh().num_devices() != mesh_.num_devices()) {
    throw ShapeError(fmt::format("{}: expected sharding {} over {} devices, got {} over {}",
                                 where(), to_text(layouts_[i]), mesh_.num_devices(),
                                 to_text(array->layout()), array->mesh().num_devices()));
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
      static_cast<PjrtArray&>(*arguments[i]).mark_donated(name_);
    }
  }
}

Arrays PjrtExecutable::execute(std::span<const ArrayPtr> arguments) {
  check_arguments(name_, inputs_, arguments);
  const auto num_devices = static_cast<size_t>(mesh_.num_devices());
  std::vector<PjrtArray::Shards>
      held;  // keeps the buffers while they are read, whoever drops the arrays
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
  if (failure) throw_failure(fmt::format("program '{}'", name_), *failure);

  const auto launch = std::make_shared<PjrtLaunch>(client_, name_, std::move(events));
  Arrays results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<PjrtBuffer> shards;
    for (size_t d = 0; d < num_devices; ++d) shards.emplace_back(plugin, out[d][i]);
    results.push_back(std::make_shared<PjrtArray>(client_, outputs_[i].type, outputs_[i].sharding,
                                                  mesh_, std::move(shards), launch));
  }
  return results;
}

std::string PjrtExecutable::serialize() const {
  pjrt::ExecutableSerialize args{.executable = executable_.get()};
  client_->plugin().call(args, fmt::format("program '{}', to bytes", name_));
  std::string bytes(args.bytes.data, args.bytes.size);
  if (args.deleter) args.deleter(args.serialized);
  return bytes;
}

std::optional<MemoryStats> PjrtExecutable::memory() const {
  pjrt::ExecutableGetCompiledMemoryStats stats{.executable = executable_.get()};
  if (client_->plugin().try_call(stats)) return std::nullopt;
  return MemoryStats{.argument_bytes = stats.argument,
                     .output_bytes = stats.output,
                     .temporary_bytes = stats.temporary,
                     .alias_bytes = stats.alias,
                     .code_bytes = stats.code,
                     .host_bytes = stats.host_argument + stats.host_output + stats.host_temporary +
                                   stats.host_code};
}

std::string PjrtExecutable::optimized_program() const {
  const auto& plugin = client_->plugin();
  auto program = plugin.padded(pjrt::Program{});
  pjrt::ExecutableOptimizedProgram args{.executable = executable_.get(), .program = &program.value};
  if (plugin.try_call(args)) return {};
  std::string bytes(program.value.code_size, '\0');
  program.value.code = bytes.data();
  if (plugin.try_call(args)) return {};
  return bytes;
}

}  // namespace axle
