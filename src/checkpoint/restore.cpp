#include "checkpoint/restore.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "base/text/unicode.h"
#include "checkpoint/folder.h"
#include "io/file.h"
#include "ir/type.h"

namespace axle {
namespace {

void check_matches(const std::filesystem::path& folder, const Manifest& manifest,
                   std::span<const ProgramValue> state) {
  Tree<Type> expected, got;
  for (const ProgramValue& value : state) expected.emplace(value.name, value.type);
  for (const auto& [path, tensor] : manifest.tensors) got.emplace(path, tensor.type);
  if (const std::string text = type_differences(expected, got); !text.empty()) {
    throw ConfigError(
        fmt::format("{}: saved by a run with another config: {}", folder.string(), text));
  }
}

// Parses the whole text of an entry as a number.
template <class T>
T parsed_entry(const CheckpointInfo& info, const std::string& name, T least, T most) {
  const std::string& text = info.entry(name);
  const char* const end = text.data() + text.size();
  T value{};
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end && value >= least && value <= most) return value;
  throw StorageError(fmt::format("{}: metadata.{}: expected a number from {} to {}, got '{}'",
                                 info.manifest.string(), name, least, most, printable(text)));
}

}  // namespace

const std::string& CheckpointInfo::entry(const std::string& name) const {
  const auto it = metadata.find(name);
  if (it != metadata.end()) return it->second;
  throw StorageError(fmt::format("{}: metadata.{}: expected an entry of this name, got none",
                                 manifest.string(), name));
}

int64_t CheckpointInfo::integer_entry(const std::string& name, int64_t least, int64_t most) const {
  return parsed_entry(*this, name, least, most);
}

double CheckpointInfo::number_entry(const std::string& name, double least, double most) const {
  return parsed_entry(*this, name, least, most);
}

std::optional<CheckpointInfo> restore_newest(
    const std::filesystem::path& root, const std::function<TensorSink(const Manifest&)>& begin,
    const Report& report) {
  const std::vector<int64_t> steps = checkpoint_steps(root);
  if (steps.empty()) return std::nullopt;
  std::string first_error;
  // Runs one read of the checkpoint of a step; false if the checkpoint is damaged. A checkpoint
  // that can't be accessed does not count as damaged: it ends the restore.
  const auto is_whole = [&](int64_t step, const std::function<void()>& read) {
    try {
      read();
      return true;
    } catch (const UnknownVersionError&) {
      throw;
    } catch (const AccessError& error) {
      throw StorageError(
          fmt::format("{}; the checkpoint of step {} may be intact; make it readable, or move it "
                      "away to continue from the previous one",
                      error.what(), step));
    } catch (const StorageError& error) {
      report(fmt::format("WARNING: damaged checkpoint: {}", error.what()));
      if (first_error.empty()) first_error = error.what();
      return false;
    }
  };
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    std::optional<StoredCheckpoint> stored;
    if (!is_whole(*it, [&] { stored.emplace(root, *it); })) continue;
    const TensorSink sink = begin(stored->manifest());
    if (!is_whole(*it, [&] { stored->read(sink); })) continue;
    if (it != steps.rbegin()) {
      report(fmt::format("WARNING: the checkpoint of step {} is used instead of step {}", *it,
                         steps.back()));
    }
    return CheckpointInfo{.step = *it,
                          .metadata = stored->manifest().metadata,
                          .manifest = stored->folder() / kManifestName};
  }
  throw StorageError(
      fmt::format("{}: expected a good checkpoint, got {} damaged: {}; restore "
                  "one from a copy, or name another folder",
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
    const std::filesystem::path folder = checkpoint_folder(root, manifest.step);
    if (check_metadata) {
      check_metadata({.step = manifest.step,
                      .metadata = manifest.metadata,
                      .manifest = folder / kManifestName});
    }
    check_matches(folder, manifest, state);
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
