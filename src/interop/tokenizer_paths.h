// The files of tokenizers and chat templates that a config names, and their copies in the folder of
// a run or an import.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "base/report.h"

namespace axle {

/// Replaces relative paths of tokenizers and chat templates in a config document by paths through
/// `dir`, if the file is in `dir`. The files are then found from any folder. In the folder of a run
/// or an import all relative paths are meant so: the folder where the program runs may have another
/// file of the name.
void resolve_tokenizer_paths(nlohmann::ordered_json& document, const std::filesystem::path& dir);
/// Replaces each file that is not where the document says by the file of its name in `dir`, if
/// there is one, and tells `report` once for each file: the copies of a run are there
/// (keep_tokenizers), and a tokenizer may have moved with its run.
void take_kept_tokenizers(nlohmann::ordered_json& document, const std::filesystem::path& dir,
                          const Report& report = report_to_stderr);
/// Throws DataError for a file that is not where the document says. The message says to copy it
/// into `dir`.
void check_tokenizer_files(nlohmann::ordered_json document, const std::filesystem::path& dir);
/// Copies the files of the tokenizers and chat templates that a config document names, with those
/// beside them, into the folder of a run, where they are looked for once they are gone. What the
/// folder has already stays as it is. Of several files of one name none is copied. Calls
/// will_make() with each new file before it is there. Throws StorageError.
void keep_tokenizers(
    const nlohmann::ordered_json& document, const std::filesystem::path& dir,
    const std::function<void(const std::filesystem::path&)>& will_make = [](const auto&) {});

}  // namespace axle
