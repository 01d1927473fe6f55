// Splits a corpus into a part for training and a part that is held out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "data/source.h"

namespace axle {

/// The part of the documents that an input reads.
enum class Split { kAll, kTrain, kHeldOut };

constexpr auto texts_of(Split) {
  return std::to_array<EnumText<Split>>(
      {{Split::kAll, "all"}, {Split::kTrain, "train"}, {Split::kHeldOut, "held_out"}});
}

/// Returns the documents of one split, in their order. Holds out about `fraction` of the bytes as
/// whole documents, chosen pseudo-randomly. The choice depends only on the documents and
/// `fraction`, never on a seed: runs with equal fractions hold out the same text. If every document
/// is too large, holds out the last lines of the largest one instead. Throws DataError if the split
/// would be empty.
std::vector<Document> select_split(const std::vector<Document>& documents, Split split,
                                   double fraction);
/// The same of documents that can't be cut, such as conversations: if every one is too large, holds
/// out the smallest. `path` is the config path of the input. Throws DataError for fewer than two.
std::vector<Document> select_whole(const std::vector<Document>& documents, Split split,
                                   double fraction, std::string_view path);

}  // namespace axle
