// The files of a corpus, and what of their documents is text.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/skip_log.h"
#include "data/token_files/corpus_reader.h"

namespace axle {

/// Returns "a: expected texts, got no document", with what was left out.
std::string no_document(std::span<const std::string> sources, const Skipped& skipped);

/// Returns the files that paths, folders and patterns name, of text and JSON Lines. Counts what it
/// leaves out of folders. Throws DataError with `field` for a name of nothing, and no_document() if
/// there is no file.
std::vector<std::string> corpus_files(std::span<const std::string> sources, std::string_view field,
                                      SkipLog& skips);
/// Returns the bytes of each file; 0 where the system does not tell.
std::vector<int64_t> sizes_of_files(std::span<const std::string> files);

/// The text of a document, or why there is none.
struct CorpusText {
  std::string text = {};
  std::string reason = {};          // empty: there is a text
  std::string where = {};           // "file:line"
  std::string message = {};         // of a refusal; without one, what is left out is only counted
  bool begins = true, ends = true;  // as of the RawDocument
};
/// `field` holds the text of a JSON object. A blank text is left out. Refuses text that is not
/// UTF-8 and text with NUL bytes.
CorpusText corpus_text(const std::string& path, RawDocument document, bool is_json,
                       std::string_view field);
/// Counts a document without a text. Throws DataError if it is refused and may not be skipped.
void leave_out(const CorpusText& document, SkipLog& skips);

/// Calls read(), which reads from a file. Returns false if that can't be read, or not on, and may
/// be skipped; throws DataError if it may not. What read() has taken before is the caller's.
bool read_or_leave_out(const std::string& path, SkipLog& skips, const std::function<void()>& read);

}  // namespace axle
