#include "runtime/interpreter_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "ir/devices/sharding.h"
#include "ir/eval.h"
#include "runtime/arguments.h"

namespace axle {
namespace {

class InterpreterArray final : public Array {
 public:
  InterpreterArray(HostTensor value, PartitionSpec sharding)
      : Array(value.type(), std::move(sharding)), value_(std::move(value)) {}

  HostTensor to_host() const override {
    const std::lock_guard lock(mutex_);
    check();
    return *value_;
  }
  void wait() const override {
    const std::lock_guard lock(mutex_);
    check();
  }
  HostTensor take(const std::string& by) {
    const std::lock_guard lock(mutex_);
    check();
    donated_to_ = by;
    HostTensor value = std::move(*value_);
    value_.reset();
    return value;
  }

 private:
  void check() const {
    if (!value_) throw_donated(type(), donated_to_);
  }
  mutable std::mutex mutex_;
  std::optional<HostTensor> value_;
  std::string donated_to_;
};

class InterpreterExecutable final : public Executable {
 public:
  explicit InterpreterExecutable(const Program& program) : program_(program) {}

  Arrays execute(std::span<const ArrayPtr> arguments) override {
    check_arguments(program_.name, program_.inputs, arguments);
    std::vector<HostTensor> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto* array = dynamic_cast<InterpreterArray*>(arguments[i].get());
      if (!array) {
        throw ShapeError(fmt::format(
            "program '{}', argument {} '{}': expected an array of this runtime, got one of another",
            program_.name, i, program_.inputs[i].name));
      }
      array->wait();  // checks all arguments before the first donated one is taken
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto& array = static_cast<InterpreterArray&>(*arguments[i]);
      values.push_back(program_.inputs[i].donated_to >= 0 ? array.take(program_.name)
                                                          : array.to_host());
    }
    auto results = evaluate(*program_.graph, std::move(values));
    AXLE_CHECK(results.size() == program_.outputs.size(),
               "a graph with other results than its program");
    Arrays out;
    for (size_t i = 0; i < results.size(); ++i) {
      out.push_back(
          std::make_shared<InterpreterArray>(std::move(results[i]), program_.outputs[i].sharding));
    }
    return out;
  }
  std::string serialize() const override {
    throw DeviceError(fmt::format(
        "program '{}': the interpreter has no compiled program to serialize", program_.name));
  }
  /// Returns the memory of the whole program divided by the number of devices. A call copies the
  /// arguments that are not donated; these copies count as temporaries.
  std::optional<MemoryStats> memory() const override {
    MemoryStats all;
    const auto bytes_of = [](const ProgramValue& value) {
      return static_cast<int64_t>(value.type.num_bytes());
    };
    int64_t donated = 0;
    for (const ProgramValue& input : program_.inputs) {
      all.argument_bytes += bytes_of(input);
      if (input.donated_to >= 0) donated += bytes_of(input);
    }
    for (const ProgramValue& output : program_.outputs) all.output_bytes += bytes_of(output);
    all.alias_bytes = std::min(donated, all.output_bytes);
    const int64_t beside = donated + all.output_bytes - all.alias_bytes;
    all.temporary_bytes = std::max<int64_t>(eval_peak_bytes(*program_.graph) - beside, 0);
    const int64_t num_devices = std::max<int64_t>(program_.mesh.num_devices(), 1);
    for (int64_t* bytes :
         {&all.argument_bytes, &all.output_bytes, &all.alias_bytes, &all.temporary_bytes})
      *bytes = (*bytes + num_devices - 1) / num_devices;
    return all;
  }
  std::string optimized_program() const override { return {}; }

 private:
  Program program_;
};

}  // namespace

InterpreterRuntime::InterpreterRuntime(int64_t num_devices)
    : topology_{.platform = "interpreter", .platform_version = "1"} {
  for (int64_t i = 0; i < num_devices; ++i)
    topology_.devices.push_back({.id = i, .kind = "interpreter"});
}

std::unique_ptr<Executable> InterpreterRuntime::compile(const Program& program,
                                                        const CompileOptions& options) {
  if (!options.overrides.empty()) {
    throw ConfigError(
        fmt::format("compiler_options.{}: expected none for the interpreter, which has no compiler",
                    options.overrides.front().first));
  }
  if (!program.graph) {
    throw DeviceError(fmt::format(
        "program '{}': the interpreter expects a traced graph, got StableHLO text alone",
        program.name));
  }
  return std::make_unique<InterpreterExecutable>(program);
}

std::unique_ptr<Executable> InterpreterRuntime::load(const std::string&, const Program& program) {
  throw DeviceError(fmt::format(
      "program '{}': the interpreter can't load compiled programs; compile it", program.name));
}

ArrayPtr InterpreterRuntime::make_array(const HostTensor& value, const PartitionSpec& sharding,
                                        const Mesh& mesh) {
  shard_slices(value.shape(), sharding, mesh, "array");  // for the errors that devices would give
  return std::make_shared<InterpreterArray>(value, sharding);
}

}  // namespace axle
