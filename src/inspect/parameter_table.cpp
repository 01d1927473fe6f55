#include "inspect/parameter_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "config/missing.h"
#include "config/walk.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "learn/weight_decay.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Returns the weight decay factors that patterns in the learner's config set, for any class
// of the learner: those that differ from what the specs say.
Tree<double> factors_of(const Child<Learner>& learner, const Tree<ParamSpec>& specs) {
  Tree<double> out;
  if (!learner) return out;
  const auto take = [&](const std::string& path, const Slot& slot) {
    if (!path.ends_with(".weight_decay_scales")) return;
    if (*slot.ops->type != typeid(WeightDecayScales)) return;
    const auto& patterns = *static_cast<const WeightDecayScales*>(slot.at);
    for (const auto& [param, factor] : weight_decay_scales(specs, patterns, path)) {
      if (factor != specs.at(param).weight_decay_scale.value_or(1)) out[param] = factor;
    }
  };
  walk(learner, take, {}, "learner");
  return out;
}

Json axes_document(const DimAxes& axes) {
  if (axes.empty()) return nullptr;
  if (axes.size() == 1) return axes[0];
  return static_cast<const std::vector<std::string>&>(axes);
}

}  // namespace

ParameterTable parameter_table(const Trainer::Config& config) {
  check_complete(config.model, "model");
  const auto model = config.model.build({}, Scope{.config_path = "model"});
  Tree<ParamSpec> specs = model->param_specs();
  if (const auto* learner = config.learner.get_if<Learner>())
    exempt_from_decay(specs, learner->undecayed, "learner.undecayed");
  const Tree<double> factors = factors_of(config.learner, specs);
  ParameterTable out;
  for (const auto& [path, spec] : specs) {
    std::optional<double> scale = spec.weight_decay_scale;
    if (const auto factor = factors.find(path); factor != factors.end()) scale = factor->second;
    out.rows.push_back({path, spec.type(), spec.mesh_axes, spec.initialiser().text, scale});
    out.total_params += spec.type().num_elements();
  }
  return out;
}

std::string to_text(const ParameterTable& table) {
  TextTable text({"parameter", "shape", "dtype", "mesh axes", "initialiser", "weight decay"});
  for (const ParameterRow& row : table.rows) {
    text.add({row.path, to_text(row.type.dims), to_text(row.type.dtype),
              to_text(PartitionSpec{.dims = row.axes}), row.init,
              fmt::format("x{}", row.weight_decay_scale.value_or(1))});
  }
  return text.text() + fmt::format("{} parameters in {} tensors\n",
                                   grouped_digits(table.total_params), table.rows.size());
}

Json to_json(const ParameterTable& table) {
  Json params = Json::object();
  for (const ParameterRow& row : table.rows) {
    Json axes = Json::array();
    for (const DimAxes& dim : row.axes) axes.push_back(axes_document(dim));
    Json& entry = params[row.path];
    entry["shape"] = row.type.dims;
    entry["dtype"] = numpy_name(row.type.dtype);
    entry["axes"] = std::move(axes);
    entry["init"] = row.init;
    entry["weight_decay_scale"] =
        row.weight_decay_scale ? Json(*row.weight_decay_scale) : Json(nullptr);
  }
  return {{"params", std::move(params)}, {"total_params", table.total_params}};
}

std::string_view numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return "bool";
    case DType::kI4:
      return "int4";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU4:
      return "uint4";
    case DType::kU8:
      return "uint8";
    case DType::kU16:
      return "uint16";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    case DType::kF8E4M3FN:
      return "float8_e4m3fn";
    case DType::kF8E5M2:
      return "float8_e5m2";
    case DType::kF16:
      return "float16";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
    case DType::kC64:
      return "complex64";
    case DType::kC128:
      return "complex128";
  }
  return "unknown";
}

namespace {

std::string steps_text(const std::vector<int64_t>& steps,
                       const std::vector<int64_t>& damaged = {}) {
  std::vector<std::string> out;
  for (const int64_t step : steps) {
    const bool is_damaged = std::ranges::count(damaged, step) > 0;
    out.push_back(fmt::format("{}{}", step, is_damaged ? " (damaged)" : ""));
  }
  return join(out, ", ");
}

// Returns what is damaged; "" for a checkpoint of another version or out of reach: it may be whole.
std::string damage_of(const std::filesystem::path& root, int64_t step, DamageCheck check) {
  try {
    const StoredCheckpoint stored(root, step);
    check == DamageCheck::kBytes ? stored.verify() : stored.check_sizes();
  } catch (const UnknownVersionError&) {
    return {};
  } catch (const AccessError&) {
    return {};
  } catch (const StorageError& error) {
    return error.what();
  }
  return {};
}

// Returns the newest checkpoint whose bytes are all as they were written, other than `bad`.
std::optional<int64_t> newest_good(const std::filesystem::path& root,
                                   const std::vector<int64_t>& steps, int64_t bad) {
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    try {
      if (*it == bad) continue;
      StoredCheckpoint(root, *it).verify();
      return *it;
    } catch (const StorageError&) {  // the next one
    }
  }
  return std::nullopt;
}

// Calls read(), which reads the selected checkpoint. Adds the newest good one to a StorageError.
template <class Read>
auto read_selected(const CheckpointSelection& selection, const std::vector<int64_t>& steps,
                   const Read& read) {
  try {
    return read();
  } catch (const StorageError& error) {
    const auto good =
        newest_good(checkpoints_of(selection.dir), steps, selection.step.value_or(steps.back()));
    if (!good) throw;
    throw StorageError(fmt::format("{}; --step {} takes the newest good one", error.what(), *good));
  }
}

// Opens the selected checkpoint.
StoredCheckpoint open_checkpoint(const CheckpointSelection& selection,
                                 const std::vector<int64_t>& steps) {
  if (steps.empty()) {
    throw ConfigError(
        fmt::format("{}: expected the folder of a run or of an import with checkpoints, got none",
                    selection.dir.string()));
  }
  const int64_t step = selection.step.value_or(steps.back());
  if (std::ranges::count(steps, step) == 0) {
    throw ConfigError(fmt::format("--step: expected one of {}, got {}", steps_text(steps), step));
  }
  return {checkpoints_of(selection.dir), step};
}

// Returns the name to show for a stored tensor; none if it is not selected.
std::optional<std::string> shown_name(const CheckpointSelection& selection, std::string_view path) {
  if (selection.weights) {
    const std::string prefix = std::string(stored_prefix(*selection.weights)) + "/";
    if (!path.starts_with(prefix)) return std::nullopt;
    path.remove_prefix(prefix.size());
  }
  const std::string name(path);
  if (!glob_match(dotted(selection.only), dotted(name))) return std::nullopt;
  return name;
}

void check_any(const CheckpointSelection& selection, const CheckpointListing& listing) {
  if (!listing.tensors.empty()) return;
  const std::string where = fmt::format("{}: step {}", listing.root.string(), listing.step);
  if (selection.only != "**") {
    throw ConfigError(
        fmt::format("{}: expected tensors that match '{}', got none; `axle "
                    "checkpoint ls DIR` lists them",
                    where, selection.only));
  }
  throw ConfigError(
      fmt::format("{}: expected {} parameters, got none; --state selects the whole training state",
                  where, selection.weights == Weights::kAverage ? "averaged" : "the model's"));
}

CheckpointListing listing_of(const CheckpointSelection& selection, const StoredCheckpoint& stored,
                             std::vector<int64_t> steps) {
  CheckpointListing out{.root = checkpoints_of(selection.dir),
                        .steps = std::move(steps),
                        .damaged = {},
                        .step = stored.manifest().step,
                        .tensors = {}};
  for (const auto& [path, tensor] : stored.manifest().tensors) {
    if (const auto name = shown_name(selection, path)) out.tensors.emplace(*name, tensor.type);
  }
  check_any(selection, out);
  return out;
}

}  // namespace

int64_t CheckpointListing::total_bytes() const {
  int64_t sum = 0;
  for (const auto& [name, type] : tensors) sum += static_cast<int64_t>(type.num_bytes());
  return sum;
}

namespace {

void report_interrupted(const std::filesystem::path& root, const Report& report) {
  for (const int64_t step : interrupted_steps(root)) {
    report(fmt::format(
        "WARNING: {}: the checkpoint of step {} was being replaced when the run ended, and is not "
        "read; the next `train` on this folder puts it back",
        root.string(), step));
  }
}

}  // namespace

CheckpointListing list_checkpoint(const CheckpointSelection& selection, DamageCheck check,
                                  const Report& report) {
  const std::filesystem::path root = checkpoints_of(selection.dir);
  report_interrupted(root, report);
  const std::vector<int64_t> steps = checkpoint_steps(root);
  std::vector<int64_t> damaged, rest;
  std::string newest_damage;
  for (const int64_t step : steps) {
    const std::string damage = damage_of(root, step, check);
    (damage.empty() ? rest : damaged).push_back(step);
    if (damage.empty()) continue;
    report(fmt::format("WARNING: damaged checkpoint: {}", damage));
    newest_damage = damage;
  }
  if (!selection.step && rest.empty() && !damaged.empty()) throw StorageError(newest_damage);
  CheckpointSelection taken = selection;
  if (!selection.step && !rest.empty() && rest.back() != steps.back()) {
    taken.step = rest.back();
    report(fmt::format("WARNING: {}: the checkpoint of step {} is damaged; step {} is listed",
                       root.string(), steps.back(), *taken.step));
  }
  const StoredCheckpoint stored = open_checkpoint(taken, steps);
  CheckpointListing out = listing_of(taken, stored, steps);
  out.damaged = std::move(damaged);
  out.is_verified = check == DamageCheck::kBytes;
  return out;
}

std::string to_text(const CheckpointListing& listing) {
  TextTable table({"tensor", "shape", "dtype", "bytes"});
  for (const auto& [name, type] : listing.tensors) {
    table.add({name, to_text(type.dims), to_text(type.dtype),
               grouped_digits(static_cast<int64_t>(type.num_bytes()))});
  }
  const std::string verified = listing.is_verified
                                   ? fmt::format("read all data: {} of {} good\n",
                                                 listing.steps.size() - listing.damaged.size(),
                                                 counted(std::ssize(listing.steps), "checkpoint"))
                                   : "";
  return fmt::format("{}: steps {}\n{}step {}\n{}{} {} in {}\n", listing.root.string(),
                     steps_text(listing.steps, listing.damaged), verified,
                     steps_text({listing.step}, listing.damaged), table.text(),
                     grouped_digits(listing.total_bytes()), plural(listing.total_bytes(), "byte"),
                     counted(std::ssize(listing.tensors), "tensor"));
}

Json to_json(const CheckpointListing& listing) {
  Json tensors = Json::object();
  for (const auto& [name, type] : listing.tensors) {
    tensors[name] = {
        {"shape", type.dims}, {"dtype", numpy_name(type.dtype)}, {"bytes", type.num_bytes()}};
  }
  return {{"steps", listing.steps},          {"damaged", listing.damaged},
          {"verified", listing.is_verified}, {"step", listing.step},
          {"tensors", std::move(tensors)},   {"total_bytes", listing.total_bytes()}};
}

CheckpointListing export_checkpoint(const CheckpointSelection& selection,
                                    const std::filesystem::path& file) {
  report_interrupted(checkpoints_of(selection.dir), report_to_stderr);
  const std::vector<int64_t> steps = checkpoint_steps(checkpoints_of(selection.dir));
  const StoredCheckpoint stored =
      read_selected(selection, steps, [&] { return open_checkpoint(selection, steps); });
  CheckpointListing out = listing_of(selection, stored, steps);
  check_replaceable(file);
  check_host_allocation(out.root.string(), "the tensors", out.total_bytes());
  Tree<HostTensor> tensors;
  const TensorSink sink = [&](const std::string& path, HostTensor value) {
    if (const auto name = shown_name(selection, path)) tensors.emplace(*name, std::move(value));
  };
  read_selected(selection, steps, [&] { stored.read(sink); });
  save_safetensors(file, tensors,
                   {{"axle", std::string(version())}, {"step", std::to_string(out.step)}});
  return out;
}

}  // namespace axle
