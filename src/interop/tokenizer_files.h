// The tokenizer of a model: which files hold it, and the copy in its folder.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/fields.h"
#include "data/chat/chat_template.h"
#include "data/tokenizers/tokenizer.h"
#include "interop/model_folder.h"

namespace axle {

/// Returns the tokenizer's file and, if the tokenizer reads them or its file has the name that it
/// has in such a folder, the files beside it that say how the tokenizer and the model are used:
/// special tokens, the chat template, the tokens that end a text.
std::vector<std::filesystem::path> tokenizer_files(const std::filesystem::path& path,
                                                   const Child<Tokenizer>& tokenizer);
/// Returns the names that the files beside a tokenizer's file may have; none for a file that has
/// not the name that it has in such a folder.
std::vector<std::string> names_beside(const std::filesystem::path& tokenizer);

/// Returns the bytes of one of these files for a copy. A GGUF file is copied without its weights.
std::string read_tokenizer_file(const std::filesystem::path& file);

// The files of tokenizers and chat templates that a config names, and their copies in the folder of
// a run or an import.

/// Replaces relative paths of tokenizers and chat templates in a config document by paths through
/// `dir`, if the file is in `dir`. The files are then found from any folder. In the folder of a run
/// or an import all relative paths are meant so: the folder where the program runs may have another
/// file of the name.
void resolve_tokenizer_paths(nlohmann::ordered_json& document, const std::filesystem::path& dir);
/// Replaces each file that is not where the document says by the file of its name in `dir`, if
/// there is one, and calls `report` once for each file: the copies of a run are there
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

// The chat template that a model was trained on. A run keeps its text in its folder:
//   trained_chat_template.jinja

/// Returns the file that a run in the folder `dir` keeps its template in.
std::filesystem::path trained_chat_template_file(const std::filesystem::path& dir);
/// Writes the first of the templates of a run's data (InputFacts::chat_templates) into the folder
/// of the run. Without any, a new run's folder has none, and an older run keeps what it has.
/// Throws StorageError.
void keep_chat_template(const std::vector<std::string>& texts, const std::filesystem::path& dir,
                        bool is_new);
/// Returns the template that the model was trained on: the one that its run keeps; for a run of an
/// earlier version that of its input's config. None if it was trained on no conversations. Throws
/// as find_chat_template() does, and StorageError.
std::optional<ChatTemplate> trained_chat_template(const LoadedModel& loaded);

}  // namespace axle
