#include "inspect/checkpoint_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/units.h"
#include "base/version.h"
#include "checkpoint/folder.h"
#include "checkpoint/read.h"
#include "checkpoint/run_files.h"
#include "inspect/numpy_name.h"
#include "io/file.h"
#include "io/safetensors.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

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
                     counted(static_cast<int64_t>(listing.tensors.size()), "tensor"));
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
