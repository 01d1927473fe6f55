// The folder of a run: its lock, which lets one process write, the config of the run, and the
// metadata that its checkpoints hold beside their tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "config/walk.h"
#include "data/input.h"
#include "io/file_lock.h"
#include "train/program/initial_state.h"

namespace axle {

struct RunMetadata {
  /// Text of config.yaml; empty in checkpoints of earlier versions.
  std::string config = {};
  /// State of the input (Input::state) at the next batch.
  std::string data = {};
  /// States of the inputs of the evalers at their beginning, by name; none in checkpoints of
  /// earlier versions.
  Tree<std::string> evaler_data = {};
  /// True if the run restarted its data at some point (--restart-data).
  bool data_restarted = false;
  /// Number of steps that were not finite.
  int64_t skipped_steps = 0;
  /// Seconds that the run has taken; 0 in checkpoints of earlier versions.
  double wall_secs = 0;
  /// What was not finite in the step at which on_non_finite=stop ended the run; empty: nothing.
  std::string stopped = {};
  /// The file that the metadata were read from, for messages.
  std::filesystem::path manifest = {};
};

Tree<std::string> to_tree(const RunMetadata& metadata);
/// Parses the metadata of a checkpoint. Throws StorageError naming the manifest if no run can have
/// written them, ConfigError if the checkpoint is that of an import.
RunMetadata run_metadata(const CheckpointInfo& info);
/// Returns the metadata of the newest checkpoint of a run whose manifest is whole; none if there is
/// none, or if it is that of an import. Throws as run_metadata does.
std::optional<RunMetadata> newest_metadata(const std::filesystem::path& run);
/// Returns the config of the newest checkpoint of a run whose manifest is whole; empty if there is
/// none, or if it keeps no config.
std::string newest_config(const std::filesystem::path& run);
/// Throws Error with kValidationFailed, as the run did, if a step that was not finite ended the run
/// of this checkpoint.
void check_not_stopped(const RunMetadata& saved);
/// How a resumed run found its data.
struct DataStart {
  /// True if the data were restarted in the middle of the run, by this resume or an earlier one.
  bool restarted;
  std::string_view note;  // message text that follows "resumed from step 5"
};
/// Moves the input to the saved position, unless `restart` asks to restart the data. With
/// `restart`, the data still continue if an earlier resume restarted these same data: the user
/// repeated the same command. Throws StorageError naming the manifest if no input can have written
/// the saved state, DataError if the state belongs to other data.
DataStart restore_input(Input& input, const RunMetadata& saved, bool restart);

/// Which differences from the saved config a resume accepts.
struct AllowedChanges {
  bool all = false;    // --force: all differences
  bool input = false;  // --restart-data: the data are restarted
};

/// Holds the folder's lock while alive. The destructor removes what this process made, the folder
/// as well, unless something was kept in it: a refused start leaves nothing behind.
class RunFolder {
 public:
  /// Creates the folder if it is missing. Throws StorageError if another process holds the lock, or
  /// if a file of a run in the folder is not a regular file; ConfigError for a folder without
  /// checkpoints whose config.yaml no run wrote.
  explicit RunFolder(std::filesystem::path dir);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Marks the folder as worth keeping: the destructor removes nothing.
  void keep() { kept_ = true; }
  /// Throws StorageError, once, if the folder was removed, moved or replaced while it was held. If
  /// nothing is in its place, first makes a new folder with its config.yaml, so that the run can
  /// still save its state.
  void check_in_place();
  /// True once another folder was found in its place. Nothing may be written into that folder.
  bool is_replaced() const { return replaced_; }
  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path checkpoints() const { return checkpoints_of(dir_); }
  std::filesystem::path config_file() const { return config_file_of(dir_); }

  /// Sets the text that config.yaml is to hold: a comment with Axle's version and the seed, then
  /// the resolved config.
  void set_config(const Slot& config, int64_t seed);
  /// Writes config.yaml, once for each text that set_config() sets. Throws StorageError.
  void write_config();
  /// Takes what a run of these data is to keep. A new run: write_config(), copies of the files of
  /// the config's tokenizers, which go with the folder (keep_tokenizers), and of the config that
  /// names the family of the model that it starts from (keep_origin). Any run: the chat template of
  /// the data (keep_chat_template). Throws StorageError.
  void begin(const Slot& config, bool is_new, const InputFacts& data, const InitFrom& init);
  /// Like write_config(), for a resumed run. Call it only after the first step: until then the file
  /// belongs to the checkpoint that the run resumed from. A failure is reported, not thrown, and
  /// the next call tries again.
  void update_config();
  /// Writes `text`, the copy that a checkpoint holds, to config.yaml if that file is missing.
  void replace_lost_config(const std::string& text);
  /// The text of config.yaml. Checkpoints hold a copy, so that a resume does not depend on
  /// config.yaml; check_same_config() compares it.
  const std::string& config_text() const { return config_text_; }
  /// Compares the config that a checkpoint was made with to `config`. `saved` holds the text of the
  /// old config; if it is empty (checkpoints of earlier versions), config.yaml is read. Throws
  /// ConfigError listing the differences, unless all of them are in fields that a resume may change
  /// (is_safe_change, Field::keeps_results) or are allowed by `allowed`. Also throws ConfigError if
  /// the old config is missing or can't be read, unless `allowed.all`. `scratch` is a config of the
  /// same class; it is overwritten with the saved one.
  void check_same_config(const RunMetadata& saved, const Slot& config, ConfigRef scratch,
                         const AllowedChanges& allowed) const;

 private:
  std::filesystem::path dir_;
  std::vector<std::filesystem::path> created_;  // created by us: dir_, then its parents
  std::vector<std::filesystem::path> new_;      // files that are ours alone, if they are there
  FileLock lock_;
  std::string config_text_;  // text of config.yaml for this run
  bool config_written_ = false, kept_ = false;
  bool lost_ = false, replaced_ = false;
};

/// True for fields that do not change the steps already taken: the length of the run, its logging,
/// its saving and its devices. Also true for paths of data, tokenizers and chat templates, which
/// may be written differently: the resumed input itself compares the data that they give.
bool is_safe_change(std::string_view path);

}  // namespace axle
