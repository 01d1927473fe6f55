// The HloBuilder that writes MLIR text.
#pragma once

#include <map>
#include <unordered_map>

#include "ir/hlo_builder.h"
#include "lower/stablehlo.h"

namespace axle {

/// Writes ops of one module; functions that are called come out after the main function.
class TextBuilder final : public HloBuilder {
 public:
  TextBuilder(const Mesh& mesh, const LowerOptions& options) : mesh_(mesh), options_(options) {}

  HloValues op(std::string_view name, const HloValues& operands, const std::vector<Type>& results,
               std::string_view attributes, const std::vector<HloRegion>& regions) override;
  HloValue splat(const Type& type, Scalar value) override;
  HloValue constant(const HostTensor& value) override;
  HloValues inline_region(const Region& region, const HloValues& arguments) override;
  HloValues call(const std::string& name, const HloValues& arguments,
                 const std::vector<Type>& results,
                 const std::function<HloValues(const HloValues&)>& body) override;
  HloValue sharding_constraint(const HloValue& x, const PartitionSpec& spec) override;
  HloValue place(const HloValue& x, std::string_view memory) override;

  /// Writes `func.func <visibility> @name(...)` with a body.
  void function(std::string_view header, const std::string& name,
                const std::vector<Type>& parameters,
                const std::vector<std::string>& parameter_attributes,
                const std::vector<std::string>& result_attributes, const std::vector<Type>& results,
                const std::function<HloValues(const HloValues&)>& body);
  /// The functions written so far, main first; then the location aliases.
  std::string take();

 private:
  std::string fresh_name();
  void line_end();
  void write_region(const HloRegion& region, std::string_view terminator);

  const Mesh& mesh_;
  LowerOptions options_;
  std::string out_;                        // of the function being written
  std::vector<std::string> finished_;      // other functions
  std::map<std::string, bool> functions_;  // private functions by name: written?
  std::map<std::pair<std::string, std::string>, HloValue> splats_;  // of the innermost region
  const OpNode* at_ = nullptr;  // the op being lowered, for its location
  bool backward_ = false;       // it lies within an op of the backward pass
  int64_t next_ = 0;
  int depth_ = 1;
};

/// "#sdy.sharding<@mesh, [{"data"}, {}]>"; `spec` may be empty (replicated). Axes that the mesh
/// lacks are left out.
std::string sdy_sharding(const PartitionSpec& spec, int64_t rank, const Mesh& mesh);

}  // namespace axle
