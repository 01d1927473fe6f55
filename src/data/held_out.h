// Which part of a corpus is never trained on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/enum_text.h"
#include "data/source.h"

namespace axle {

/// The part of the documents that an input reads.
enum class Split { kAll, kTrain, kHeldOut };

constexpr auto texts_of(Split) {
  return std::to_array<EnumText<Split>>({{Split::kAll, "all"}, {Split::kTrain, "train"}, {Split::kHeldOut, "held_out"}});
}

/// The documents of one split, in their order. About `fraction` of the bytes are held out, as whole
/// documents chosen at random; the choice depends on the documents alone, never on a seed, so that
/// no run trains on what another holds out. Where every document is too large for that, the last
/// lines of the largest one are held out instead. Throws DataError if a split would be empty.
std::vector<Document> select_split(const std::vector<Document>& documents, Split split,
                                   double fraction);

}  // namespace axle
