#include "checkpoint/checkpointer.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/parallel.h"
#include "checkpoint/folder.h"
#include "checkpoint/state_files.h"
#include "config/register.h"
#include "io/file.h"
#include "ir/host_tensor.h"

namespace axle {
namespace {

constexpr std::string_view kNoMemory = "the host has no memory for a copy of the state";

}  // namespace

Checkpointer::Checkpointer(const Config& config, std::filesystem::path root, Report report)
    : config_(config), root_(std::move(root)), report_(std::move(report)) {
  make_directories(root_);
  remove_stale_checkpoints(root_);
}

Checkpointer::~Checkpointer() { wait(); }

void Checkpointer::wait() {
  if (thread_.joinable()) thread_.join();
}

std::optional<int64_t> Checkpointer::last_saved() {
  wait();
  return last_saved_;
}

void Checkpointer::mark_restored(int64_t step) {
  wait();
  last_saved_ = step;
}

// Also checks that the checkpoint still exists: somebody may have removed it.
bool Checkpointer::is_saved(int64_t step) const {
  return last_saved_ == step && path_exists(checkpoint_folder(root_, step));
}

void Checkpointer::save(int64_t step, std::span<const ProgramValue> state,
                        std::span<const ArrayPtr> arrays, Tree<std::string> metadata,
                        SaveMode mode) {
  AXLE_CHECK(state.size() == arrays.size(), "one array for each value of the state");
  wait();  // before the copy, so that the host never holds two copies of the state
  if (is_saved(step)) return;
  for (const ArrayPtr& array : arrays) array->wait();  // throws if a step failed: no failed save
  Tree<ArrayPtr> by_path;
  for (size_t i = 0; i < state.size(); ++i) by_path.emplace(state[i].name, arrays[i]);
  if (mode == SaveMode::kBlocking) {
    const auto read_each = [&](const TensorVisitor& visit) {
      for (const auto& [path, array] : by_path) visit(path, array->to_host());
    };
    return write(step, read_each, metadata);
  }
  Tree<HostTensor> tensors;
  try {
    for (const auto& [path, array] : by_path) tensors.emplace(path, array->to_host());
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDoesNotFit) throw;
    return count_failure(step, error.what());
  } catch (const std::bad_alloc&) {
    return count_failure(step, kNoMemory);
  }
  save(step, std::move(tensors), std::move(metadata));
}

void Checkpointer::save(int64_t step, Tree<HostTensor> tensors, Tree<std::string> metadata) {
  wait();
  if (is_saved(step)) return;
  if (config_.mode == SaveMode::kBlocking) return write(step, each_of(tensors), metadata);
  const auto saved = std::make_shared<const Tree<HostTensor>>(std::move(tensors));
  const auto work = [this, step, saved, metadata] {
    // A failure is counted; without memory it is not reported.
    while_memory_lasts([&] { write(step, each_of(*saved), metadata); });
  };
  if (!try_start(thread_, work)) work();
}

void Checkpointer::count_failure(int64_t step, std::string_view why) {
  ++num_failures_;
  if (last_saved_ == step) last_saved_.reset();
  report_(fmt::format(
      "WARNING: the checkpoint of step {} was not saved: {}; training goes on, {} failed so far",
      step, why, num_failures_.load()));
}

void Checkpointer::write(int64_t step, const ForEachTensor& tensors,
                         const Tree<std::string>& metadata) {
  // The last of several checks: a run falls back to the state that was saved.
  const ForEachTensor finite = [&](const TensorVisitor& visit) {
    tensors([&](const std::string& path, const HostTensor& tensor) {
      if (!all_finite(tensor))
        throw StorageError(fmt::format("expected finite numbers, got NaN or infinity in {}", path));
      visit(path, tensor);
    });
  };
  try {
    write_checkpoint(root_, step, finite, metadata);
    // Older checkpoints are removed only after the new one was read back and verified.
    StoredCheckpoint(root_, step).verify();
    last_saved_ = step;
  } catch (const std::bad_alloc&) {
    return count_failure(step, kNoMemory);
  } catch (const DeviceError& error) {  // of a tensor that is read now
    if (error.code() != ExitCode::kDoesNotFit) throw;
    return count_failure(step, error.what());
  } catch (const std::exception& error) {
    return count_failure(step, error.what());
  }
  try {
    remove_old_checkpoints(root_, step, {config_.keep_last_n, config_.keep_every_steps});
  } catch (const std::exception& error) {
    report_(fmt::format("WARNING: old checkpoints were not removed: {}", error.what()));
  }
}

AXLE_REGISTER(Checkpointer)

}  // namespace axle
