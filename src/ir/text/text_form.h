// Graphs as text: printed, and read back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace axle {

/// The attributes of the ops of a region and of all regions nested in it. Ops of one name with
/// equal texts and types of results have equal attributes, so the table serves for each region that
/// is made of such ops.
class AttributeTable {
 public:
  explicit AttributeTable(const Region& region);
  /// Returns the attributes with this text of the ops of this name whose results have these types,
  /// or nullptr if the region has no such op.
  std::shared_ptr<const Attributes> find(std::string_view op, std::string_view text,
                                         const std::vector<Type>& results) const;

 private:
  void add(const Region& region);
  std::map<std::string, std::shared_ptr<const Attributes>> found_;
};

/// Reads the text of a region: its parameters, ops with operands, result types, nested regions,
/// layer paths and phases, and its results. Ops are found in the registry. The text holds no
/// names of parameters, so they are not restored. print() of the result returns the same text.
///
/// Throws DataError with the line if the text is not one of print(), if no op has the name, if the
/// table lacks the attributes, or if the op infers other types than the printed ones.
std::shared_ptr<Region> parse_region(std::string_view text, const AttributeTable& attributes);

/// Prints one op per line: "%3 = add %1, %2 : f32[4] @decoder/layers [backward]". Nested regions
/// are indented. The parameters and ops of each region are numbered in their order.
std::string print(const Region& region);

/// Counts the ops called `name` in the region and in all regions nested in it.
int64_t count_ops(const Region& region, std::string_view name);

}  // namespace axle
