// The chat template that a model was trained on. A run keeps its text in its folder:
//   trained_chat_template.jinja
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/chat_template.h"
#include "interop/model_folder.h"

namespace axle {

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
