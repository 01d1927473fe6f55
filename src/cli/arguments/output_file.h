// Files and folders that a command writes where its user says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_ref.h"

namespace axle::cli {

/// What a command writes into a file. Results are tensors that Axle computed, with
/// kResultsMetadata. Samples are what a model says about the documents of tasks, as JSON lines.
enum class OutputKind { kTensors, kResults, kDrawing, kExecutable, kSamples };

inline const std::map<std::string, std::string> kResultsMetadata = {{"written_by", "axle"}};

/// Throws ConfigError "<flag>: ..." for a name that begins with '-', which may be a flag without
/// its value, and for a file whose content would be lost:
///   one of `inputs`, which the same command reads, or a file below one that is a folder;
///   a file of a run or of an import: its config, records, lock, tokenizer, or anything in a
///   checkpoint;
///   a file of another kind than `kind`, if one is given. One of that kind is replaced, as a
///   compiler replaces what it wrote before. An empty one is of any kind.
/// Empty names are ignored.
void check_output_file(std::string_view flag, const std::string& file,
                       std::optional<OutputKind> kind, const std::vector<std::string>& inputs = {});

/// Throws ConfigError "--dir: ..." for a folder of a run that is one of the folders of data in
/// `inputs`: a later run would count the files of this one as documents that are left out.
void check_run_folder(const std::string& dir, const std::vector<std::string>& inputs);

/// Returns the files and folders that a config names: its fields called "path".
std::vector<std::string> paths_in(const ConfigView& config);

}  // namespace axle::cli
