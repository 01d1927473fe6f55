// The documents of a task: records of a file with one JSON object a line, or with a list of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "data/chat/jinja/value.h"

namespace axle {

struct TaskDocument {
  jinja::Value fields;  // a mapping from names
  std::string text;     // the record, with its fields in the order of the file
  std::string where;    // "file:line", or its number in a list
};

/// The documents of a split.
struct TaskSplit {
  std::vector<TaskDocument> documents;
  std::set<std::string> fields;  // the names in any of the documents
};

/// Reads files one after the other, as JsonRecords does. Throws DataError "<file>:<line>: ..."
/// for what is no JSON object, and for files without a document; StorageError.
TaskSplit read_task_split(const std::vector<std::string>& files);

}  // namespace axle
