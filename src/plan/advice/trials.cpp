#include "plan/advice/trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/find_slot.h"
#include "config/walk.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/blocks/pattern.h"
#include "layers/models/decoder.h"
#include "modifiers/set_partition.h"

namespace axle {
namespace {

constexpr double kSafeShare = 0.9;  // of a device's memory, for an estimate that "may fit"

}  // namespace

Trials::Trials(const Resolved& resolved, const Target& target, const CompileReport& report)
    : config_(resolved.config),
      recipe_(resolved.report.recipe),
      target_(target),
      memory_(static_cast<double>(report.device_memory_bytes)) {
  const LoweredStep step = lower_step(config_, recipe_, target_);
  const MemoryEstimate estimate = estimate_memory(step.program);
  double needed = 0;
  if (report.memory) {
    needed = static_cast<double>(report.memory->total_bytes());
  } else if (const auto headroom = report.headroom_bytes()) {
    needed = memory_ - static_cast<double>(*headroom);
  }
  scale_ = scale_for(estimate, needed);
  mesh_ = step.program.mesh;
  for (const ProgramValue& input : step.program.inputs) {
    if (input.donated_to >= 0) shared_state_bytes_ += static_cast<double>(input.type.num_bytes());
  }
  shared_state_bytes_ /= static_cast<double>(mesh_.num_devices());
  Trainer::Config copy = config_;
  for_each_config<Pattern>(copy, [&](const std::string&, const Pattern::Config&) {
    layers_ = "**.pattern[*]";  // a Pattern has slots of another name
  });
}

std::optional<Trial> Trials::trial(const Edits& edits, Trainer::Config config,
                                   const Target& target) const {
  try {
    apply_edits(edits, config);
    // Lowered first: if a later part throws, g++ 12 destroys those of a nested aggregate twice.
    Trial out{.edits = edits, .change = {}, .step = lower_step(config, recipe_, target)};
    out.estimate = estimate_memory(out.step.program);
    out.change.flags = flags_of(edits);
    out.change.estimated_bytes = out.bytes(scale_);
    out.config = std::move(config);
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

double Trials::scale_for(const MemoryEstimate& estimate, double needed_bytes) {
  const double temporaries = needed_bytes - estimate.argument_bytes;
  if (temporaries <= 0 || estimate.temporary_bytes <= 0) return 1;
  return std::clamp(temporaries / estimate.temporary_bytes, kLeastScale, kMostScale);
}

bool Trials::may_fit(const Trial& trial, double scale) const {
  return memory_ == 0 || trial.bytes(scale) <= kSafeShare * memory_;
}

Edit Trials::remat(const std::string& policy) const {
  return UseModifier{fmt::format("SetRemat: {{at: '{}', policy: {}}}", layers_, policy)};
}

std::optional<Edit> Trials::divide_vocabulary() const {
  std::optional<Edit> out;
  Trainer::Config copy = config_;
  for_each_config<Decoder>(copy, [&](const std::string& path, const Decoder::Config& decoder) {
    const bool is_divided = decoder.lm_head ? decoder.lm_head->options.partition.has_value()
                                            : decoder.emb.options.partition.has_value();
    if (out || is_divided) return;
    const auto divided = parallel_vocabulary(path + (decoder.lm_head ? ".lm_head" : ".emb"));
    out = UseModifier{fmt::format("SetPartition: {{at: {}, partition: {}}}", divided.at,
                                  to_text(*divided.partition))};
  });
  return out;
}

Edits Trials::by_blocks() const {
  constexpr int64_t kFrom = 1024, kChunk = 512;  // keys of a call, positions of a row
  Edits out;
  bool has_blocks = false;
  Trainer::Config copy = config_;
  walk(copy, [&](const std::string&, const Slot& slot) {
    if (slot.ops->kind != FieldKind::kStruct || *slot.ops->type != typeid(AttentionBlocks)) return;
    has_blocks |= !static_cast<const AttentionBlocks*>(slot.at)->from.has_value();
  });
  const int64_t length = whole_number(config_, "input.seq_len");
  if (has_blocks && length >= kFrom) {
    out.push_back(
        UseModifier{fmt::format("SetWhere: {{select: AttentionCore, where: {{blocks.from: "
                                "'none'}}, set: {{blocks.from: '{}'}}}}",
                                kFrom)});
  }
  constexpr const char* kChunkLen = "model.loss_chunk_len";
  const bool has_chunks = [&] {
    try {
      find_slot(config_, kChunkLen);
      return whole_number(config_, kChunkLen) == 0;
    } catch (const ConfigError&) {
      return false;
    }
  }();
  if (has_chunks && length > kChunk) out.push_back(SetField{kChunkLen, std::to_string(kChunk)});
  return out;
}

}  // namespace axle
