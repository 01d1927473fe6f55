// Which part of a corpus is never trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace axle {

/// The part of the documents that an input reads.
enum class Split { kAll, kTrain, kHeldOut };

std::string to_text(Split split);
void from_text(std::string_view text, Split& split);

/// The documents of one split, in their order. About `fraction` of the bytes are held out, as whole
/// documents chosen at random; the choice depends on the documents alone, never on a seed, so that
/// no run trains on what another holds out. Where every document is too large for that, the last
/// lines of the largest one are held out instead. Throws DataError if a split would be empty.
std::vector<Document> select_split(const std::vector<Document>& documents, Split split,
                                   double fraction);

}  // namespace axle
