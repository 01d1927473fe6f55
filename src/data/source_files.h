// The files that the paths of a source name, for formats that their endings tell.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/skip_log.h"

namespace axle {

/// The endings of files with documents. Beside texts, *.json files describe them.
inline constexpr auto kDocumentEndings =
    std::to_array<std::string_view>({".txt", ".jsonl", ".ndjson", ".parquet", ".json"});
inline constexpr auto kTextEndings = std::span(kDocumentEndings).first<4>();
inline constexpr auto kRecordEndings = std::span(kDocumentEndings).subspan<1>();

/// Returns the ending that tells the format, in lower case and without that of a compression:
/// ".jsonl" of "corpus.JSONL.gz".
std::string format_ending(const std::filesystem::path& path);

/// Refuses a folder that is named beside other paths and has no file of these patterns: what a user
/// names counts.
void refuse_folder(const std::string& path, std::string_view patterns, SkipLog& skips);

/// Refuses a link to nothing. Returns false if `path` is none.
bool refuse_broken_link(const std::filesystem::path& path, SkipLog& skips);

/// Returns the files of `named`, files and folders. Of a folder and its subfolders, all files with
/// one of the endings, in the order of their paths. Counts other files as skipped, hidden ones, and
/// those named or linked a second time. Links to nothing are refused.
std::vector<std::string> source_files(std::span<const std::string> named,
                                      std::span<const std::string_view> endings, SkipLog& skips);

}  // namespace axle
