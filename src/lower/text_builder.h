// An HloBuilder that writes MLIR text.
#pragma once

#include <map>
#include <unordered_map>

#include "ir/hlo_builder.h"
#include "lower/stablehlo.h"

namespace axle {

/// Writes the functions of one module. Private functions follow the main function.
class TextBuilder final : public HloBuilder {
 public:
  /// `target`: the platform that will compile the text.
  TextBuilder(const Mesh& mesh, const LoweringTarget& target) : mesh_(mesh), target_(target) {}

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
  const Mesh& mesh() const override { return mesh_; }
  const LoweringTarget& target() override {
    depends_on_target_ = true;
    return target_;
  }
  void record(LoweringChoice choice) override;
  std::vector<MeshAxis> automatic_axes() const override;
  int64_t next_channel() override { return ++num_channels_; }
  HloValues manual_computation(const HloValues& operands,
                               const std::vector<PartitionSpec>& in_specs,
                               const std::vector<PartitionSpec>& out_specs,
                               const std::vector<std::string>& manual_axes,
                               const std::vector<Type>& parts, const std::vector<Type>& results,
                               const std::function<HloValues(const HloValues&)>& body) override;

  /// Writes `func.func <visibility> @name(...)` with a body.
  void function(std::string_view visibility, const std::string& name,
                const std::vector<Type>& parameters,
                const std::vector<std::string>& parameter_attributes,
                const std::vector<std::string>& result_attributes, const std::vector<Type>& results,
                const std::function<HloValues(const HloValues&)>& body);
  /// True if a rule asked for the target.
  bool depends_on_target() const { return depends_on_target_; }
  const std::vector<LoweringChoice>& choices() const { return choices_; }
  /// Returns the functions written so far, main first.
  std::string take();

 private:
  std::string fresh_name();
  void line_end();
  void write_region(const HloRegion& region, std::string_view terminator);

  const Mesh& mesh_;
  LoweringTarget target_;
  std::string out_;                        // text of the function being written
  std::vector<std::string> finished_;      // texts of the finished private functions
  std::map<std::string, bool> functions_;  // names of the private functions written or begun
  // Splat constants of the innermost region, by type and element text.
  std::map<std::pair<std::string, std::string>, HloValue> splats_;
  const OpNode* at_ = nullptr;            // the op being lowered, for its location
  std::vector<std::string> manual_axes_;  // of the regions that are being written
  std::vector<LoweringChoice> choices_;
  bool depends_on_target_ = false;
  bool backward_ = false;  // true inside the regions of an op of the backward pass
  int64_t next_ = 0;
  int64_t num_channels_ = 0;
  int depth_ = 1;
};

/// Whether the partitioner may divide dims over more axes than the sharding names.
enum class ShardedDims { kClosed, kOpen };
/// Returns the Shardy text of a sharding, without "#sdy.sharding": <@mesh, [{"data"}, {}]>. An
/// empty `spec` means replicated. Axes that the mesh does not have, or has with size 1, are left
/// out.
std::string sdy_sharding(const PartitionSpec& spec, int64_t rank, const Mesh& mesh,
                         ShardedDims kind = ShardedDims::kClosed);

}  // namespace axle
