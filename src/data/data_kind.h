// What the paths of `--data` hold.
#pragma once

#include <string>

namespace axle {

/// What a path names, as far as the names of files and the first record tell.
enum class DataKind {
  kUnknown,        // none of these, also if nothing is there
  kText,           // plain text (TextSource)
  kCorpus,         // texts in records or tables, or compressed (CorpusSource)
  kConversations,  // ChatSource
  kPreferences,    // pairs of answers (ChatSource)
};
/// Looks at a file, at the files in a folder, or at those that match a pattern. Among texts, one
/// that is compressed or in records makes them a corpus; conversations beside texts are left out.
DataKind data_kind_at(const std::string& path);
/// What paths hold together: `kind` and what follows it.
DataKind joined_kind(DataKind kind, DataKind other);

}  // namespace axle
