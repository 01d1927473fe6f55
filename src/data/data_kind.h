// What the paths of `--data` hold.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace axle {

/// What a path names, as far as the names of files and the first record show.
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
/// Throws DataError where a path holds nothing that could have a kind: nothing is there, a file
/// can't be read, or there is no record. `field` is the config path to set.
void check_has_record(const std::string& path, std::string_view field);
/// Throws DataError, with what to do, if all of these files hold conversations or pairs of answers
/// without the field that texts are read from.
void check_are_texts(std::span<const std::string> files, std::string_view field,
                     std::string_view advice);

}  // namespace axle
