// The folder of a run: who may write into it, and with which config it was made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/config_ref.h"
#include "io/file_lock.h"
#include "train/run_metadata.h"

namespace axle {

/// Which differences from the config that a run was made with a resume takes.
struct AllowedChanges {
  bool all = false;    // --force
  bool input = false;  // --restart-data: the data begin anew
};

/// Holds the folder's lock while alive. A folder that it has created goes with it, unless something
/// was kept there: a start that is refused leaves nothing behind.
class RunFolder {
 public:
  /// Creates the folder where missing. Throws StorageError if another process holds it, and for
  /// files of a run in it that are no regular ones.
  explicit RunFolder(std::filesystem::path dir);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// From now on the folder holds something of worth: it stays.
  void keep() { created_.clear(); }
  /// Throws StorageError, once, where the folder was removed, moved or replaced while it was held.
  /// Where nothing is in its place it is made anew, with its config.yaml, so that what is still to
  /// be saved finds a place.
  void check_in_place();
  /// True once another folder was found in its place: nothing may be written there.
  bool is_anothers() const { return anothers_; }
  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path checkpoints() const { return dir_ / "checkpoints"; }
  std::filesystem::path config_file() const { return dir_ / "config.yaml"; }

  /// What config.yaml is to hold: the resolved config with Axle's version and the seed in comments
  /// on top.
  void set_config(const ConfigView& config, int64_t seed);
  /// Writes config.yaml where it does not hold that yet. Throws StorageError.
  void write_config();
  /// The same for a run that goes on, once it has taken a step: until then the file belongs to the
  /// checkpoint that is there. What fails is told and tried again by the next call.
  void update_config();
  /// Writes config.yaml anew, with the text that the checkpoint kept, where it was lost.
  void replace_lost_config(const std::string& text) const;
  /// What checkpoints keep of it beside their own, so that config.yaml may be lost or edited: to be
  /// handed to check_same_config.
  const std::string& config_text() const { return config_text_; }
  /// Compares the config that a checkpoint was made with with this one; `saved` holds its text,
  /// empty in a checkpoint that kept none: then config.yaml counts. Throws ConfigError with the
  /// differences, unless all of them are in fields that a resume may change (is_safe_change) or in
  /// allowed ones; the same for one that is lost or can't be read, unless all are allowed.
  void check_same_config(const RunMetadata& saved, const ConfigView& config, ConfigRef scratch,
                         const AllowedChanges& allowed) const;

 private:
  std::filesystem::path dir_;
  std::vector<std::filesystem::path> created_;  // by us, the innermost first: dir_ and its parents
  FileLock lock_;
  std::string config_text_;  // of config.yaml, as this run has it
  bool config_written_ = false;
  bool lost_ = false, anothers_ = false;
};

/// True for fields that do not change what the steps already taken were: how long, how loud, how
/// often saved; and for paths of data, which may be written differently: a resumed input compares
/// the data themselves.
bool is_safe_change(std::string_view path);

}  // namespace axle
