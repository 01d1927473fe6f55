// The fake plugin's compiler and programs.
#include <cstring>
#include <sstream>

#include "pjrt/abi/executable.h"
#include "pjrt/compile/compile_options.h"
#include "testing/fake_plugin/fake_entry.h"
#include "testing/proto_fields.h"

namespace axle::testing {
namespace {

using namespace pjrt;
using pjrt::Error, pjrt::Executable, pjrt::Program;  // not those of axle
namespace fields = build_option_fields;

constexpr char kStored[] = "fake executable: ";

/// Returns the device ids in encoded options: the device assignment holds one message per device.
std::vector<int64_t> assigned_devices(std::string_view options) {
  std::vector<int64_t> out;
  for (const ProtoField& build : fields_of(options, fields::kBuildOptions)) {
    for (const ProtoField& assignment : fields_of(build.bytes(), fields::kDeviceAssignment)) {
      for (const ProtoField& device : fields_of(assignment.bytes(), fields::kComputationDevices))
        fields_of(device.bytes(), fields::kReplicaDeviceIds).at(0).append_to(out);
    }
  }
  return out;
}

Error* compile(ClientCompile& args) {
  std::string text;
  if (auto* error = compile_text(*args.program, args.compile_options, text)) return error;
  args.executable = new LoadedExecutable;
  args.executable->text = text;
  args.executable->device_ids = assigned_devices(to_view(args.compile_options));
  return nullptr;
}

Error* get_executable(LoadedExecutableGetExecutable& args) {
  args.executable = new Executable;
  args.executable->text = args.loaded->text;
  parse(*args.executable);
  return nullptr;
}

Error* destroy(ExecutableDestroy& args) {
  delete args.executable;
  return nullptr;
}
Error* destroy_loaded(LoadedExecutableDestroy& args) {
  delete args.executable;
  return nullptr;
}

Error* num_outputs(ExecutableNumOutputs& args) {
  args.num_outputs = args.executable->num_outputs;
  return nullptr;
}

Error* execute(LoadedExecutableExecute& args) {
  if (auto* error =
          check_size("ExecuteOptions", args.options->head.struct_size, wire_size<ExecuteOptions>()))
    return error;
  Executable program;
  program.text = args.executable->text;
  parse(program);
  const auto& device_ids = args.executable->device_ids;
  for (size_t d = 0; d < args.num_devices; ++d) {
    for (size_t i = 0; i < args.num_args && !device_ids.empty(); ++i) {
      if (args.arguments[d][i]->device_id != device_ids.at(d))
        return new Error(ErrorCode::kInvalidArgument, "an argument lies on another device");
    }
    std::optional<std::string> failure;
    if (control().fail_run_on_device == static_cast<int>(d))
      failure = "device " + std::to_string(d) + " failed";
    for (size_t i = 0; i < program.num_outputs; ++i) {
      const Buffer& from = *args.arguments[d][i];
      auto* out = new Buffer;
      out->type = from.type;
      out->dims = from.dims;
      out->device_id = from.device_id;
      out->data = from.data;
      out->failure = failure;
      args.outputs[d][i] = out;
    }
    for (size_t i : program.donated) args.arguments[d][i]->deleted = true;
    if (args.device_complete_events)
      args.device_complete_events[d] = new Event([failure] { return failure; }, false);
  }
  return nullptr;
}

void delete_serialized(SerializedExecutable* bytes) {
  --control().live_objects;
  delete reinterpret_cast<std::string*>(bytes);
}

Error* serialize(ExecutableSerialize& args) {
  auto* bytes = new std::string(kStored + args.executable->text);
  ++control().live_objects;
  args.bytes = {bytes->data(), bytes->size()};
  args.serialized = reinterpret_cast<SerializedExecutable*>(bytes);
  args.deleter = delete_serialized;
  return nullptr;
}

Error* load(ExecutableDeserializeAndLoad& args) {
  const std::string bytes(args.serialized.data, args.serialized.size);
  if (!bytes.starts_with(kStored))
    return new Error(ErrorCode::kInvalidArgument, "not a fake executable");
  args.loaded = new LoadedExecutable;
  args.loaded->text = bytes.substr(std::strlen(kStored));
  return nullptr;
}

Error* memory(ExecutableGetCompiledMemoryStats& args) {
  args.temporary = 77;
  args.host_temporary = 5;
  return nullptr;
}

Error* optimized(ExecutableOptimizedProgram& args) {
  if (auto* error = check_size("Program", args.program->head.struct_size, wire_size<Program>()))
    return error;
  const std::string& text = args.executable->text;
  if (args.program->code) std::memcpy(args.program->code, text.data(), text.size());
  args.program->code_size = text.size();
  return nullptr;
}

Error* cost(ExecutableGetCostAnalysis& args) {
  auto& flops = args.executable->flops;
  flops.name = {"flops", 5};
  flops.kind = NamedValue::Kind::kFloat;
  flops.float_value = 12.5f;
  args.properties = &flops;
  args.num_properties = 1;
  return nullptr;
}

}  // namespace

Error* compile_text(const Program& program, Text options, std::string& text) {
  if (auto* error = check_size("Program", program.head.struct_size, wire_size<Program>()))
    return error;
  const std::vector<ProtoField> overrides = fields_of(to_view(options), fields::kOverrides);
  if (control().refuse_options && !overrides.empty()) {
    const std::string_view name = fields_of(overrides[0].bytes(), fields::kKey).at(0).bytes();
    return new Error(ErrorCode::kInvalidArgument,
                     "no such compile option: '" + std::string(name) + "'");
  }
  text.assign(program.code, program.code_size);
  if (!text.starts_with("outputs="))
    return new Error(ErrorCode::kInvalidArgument, "1:1: error: not a fake program");
  return nullptr;
}

void parse(Executable& executable) {
  std::istringstream words(executable.text);
  for (std::string word; words >> word;) {
    if (word.starts_with("outputs=")) executable.num_outputs = std::stoul(word.substr(8));
    if (!word.starts_with("donate=")) continue;
    std::istringstream numbers(word.substr(7));
    for (std::string number; std::getline(numbers, number, ',');)
      executable.donated.push_back(std::stoul(number));
  }
}

void enter_executables(pjrt::Api& api) {
  enter<ClientCompile, compile>(api);
  enter<LoadedExecutableGetExecutable, get_executable>(api);
  enter<ExecutableDestroy, destroy>(api);
  enter<LoadedExecutableDestroy, destroy_loaded>(api);
  enter<ExecutableNumOutputs, num_outputs>(api);
  enter<LoadedExecutableExecute, execute>(api);
  enter<ExecutableSerialize, serialize>(api);
  enter<ExecutableDeserializeAndLoad, load>(api);
  enter<ExecutableGetCompiledMemoryStats, memory>(api);
  enter<ExecutableOptimizedProgram, optimized>(api);
  enter<ExecutableGetCostAnalysis, cost>(api);
}

}  // namespace axle::testing
