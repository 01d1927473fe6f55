#include "checkpoint/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/folder.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr size_t kMostDifferences = 5;

// Lines that say how the stored tensors differ from those of `state`.
std::vector<std::string> differences(const Manifest& manifest,
                                     std::span<const ProgramValue> state) {
  std::vector<std::string> lines;
  Tree<int> known;
  for (const ProgramValue& value : state) {
    known.emplace(value.name, 0);
    const auto it = manifest.tensors.find(value.name);
    if (it == manifest.tensors.end()) {
      lines.push_back(fmt::format("{} is missing in it", value.name));
    } else if (it->second.type != value.type) {
      lines.push_back(fmt::format("{}: expected {}, got {}", value.name, to_text(value.type),
                                  to_text(it->second.type)));
    }
  }
  for (const auto& [path, tensor] : manifest.tensors) {
    if (!known.contains(path)) lines.push_back(fmt::format("{} is not in this config", path));
  }
  return lines;
}

void check_matches(const std::filesystem::path& folder, const Manifest& manifest,
                   std::span<const ProgramValue> state) {
  std::vector<std::string> lines = differences(manifest, state);
  if (lines.empty()) return;
  if (const size_t n = lines.size(); n > kMostDifferences) {
    lines.resize(kMostDifferences);
    lines.push_back(fmt::format("and {} more", n - kMostDifferences));
  }
  throw ConfigError(fmt::format("{}: saved by a run with another config: {}", folder.string(),
                                join(lines, "; ")));
}

}  // namespace

std::optional<CheckpointInfo> restore_newest(
    const std::filesystem::path& root, const std::function<TensorSink(const Manifest&)>& begin,
    const Report& report) {
  const std::vector<int64_t> steps = checkpoint_steps(root);
  if (steps.empty()) return std::nullopt;
  std::string first_error;
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    TensorSink sink;
    try {
      const StoredCheckpoint stored(root, *it);
      sink = begin(stored.manifest());
      stored.read(sink);
      if (it != steps.rbegin()) {
        report(fmt::format("WARNING: going on from the checkpoint of step {}, not from that of {}",
                           *it, steps.back()));
      }
      return CheckpointInfo{.step = *it, .metadata = stored.manifest().metadata};
    } catch (const UnknownVersionError&) {
      throw;
    } catch (const AccessError& error) {
      throw StorageError(
          fmt::format("{}; the checkpoint of step {} may be whole: let it be read, or move it away "
                      "to go on from the one before it",
                      error.what(), *it));
    } catch (const StorageError& error) {
      report(fmt::format("WARNING: damaged checkpoint: {}", error.what()));
      if (first_error.empty()) first_error = error.what();
    }
  }
  throw StorageError(fmt::format("{}: expected a good checkpoint, got {} damaged: {}",
                                 root.string(), steps.size(), first_error));
}

std::optional<RestoredTensors> restore_tensors(const std::filesystem::path& root,
                                               const Report& report) {
  RestoredTensors out;
  const auto begin = [&](const Manifest&) {
    out.tensors.clear();
    return [&](const std::string& path, HostTensor value) {
      out.tensors.emplace(path, std::move(value));
    };
  };
  const auto info = restore_newest(root, begin, report);
  if (!info) return std::nullopt;
  static_cast<CheckpointInfo&>(out) = *info;
  return out;
}

std::optional<RestoredArrays> restore_arrays(const std::filesystem::path& root, Runtime& runtime,
                                             const Mesh& mesh, std::span<const ProgramValue> state,
                                             const CheckMetadata& check_metadata,
                                             const Report& report) {
  Tree<size_t> index;
  for (size_t i = 0; i < state.size(); ++i) index.emplace(state[i].name, i);
  RestoredArrays out;
  const auto begin = [&](const Manifest& manifest) {
    if (check_metadata) check_metadata(manifest.metadata);
    check_matches(checkpoint_folder(root, manifest.step), manifest, state);
    out.arrays.assign(state.size(), nullptr);
    return [&](const std::string& path, HostTensor value) {
      const size_t i = index.at(path);
      out.arrays[i] = runtime.make_array(value, state[i].sharding, mesh);
    };
  };
  const auto info = restore_newest(root, begin, report);
  if (!info) return std::nullopt;
  static_cast<CheckpointInfo&>(out) = *info;
  return out;
}

}  // namespace axle
