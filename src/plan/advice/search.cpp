#include "plan/advice/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "config/walk.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/blocks/stack.h"
#include "layers/models/decoder.h"
#include "modifiers/mesh_modifiers.h"
#include "nn/remat_policies.h"

namespace axle {

std::vector<std::string> flags_of(const Edits& edits) {
  std::vector<std::string> out;
  for (const Edit& edit : edits) {
    if (const auto* field = std::get_if<SetField>(&edit)) {
      out.push_back(field->path == "mesh" ? fmt::format("--mesh {}", field->text)
                                          : fmt::format("--set {}={}", field->path, field->text));
    } else {
      out.push_back(fmt::format("--modify \"{}\"", std::get<UseModifier>(edit).text));
    }
  }
  return out;
}

std::string flags_text(const Change& change) { return join(change.flags, " "); }

std::string need_text(const Change& change, int64_t device_memory_bytes) {
  const double bytes =
      change.compiled_bytes ? static_cast<double>(*change.compiled_bytes) : change.estimated_bytes;
  return fmt::format("{}: {} of {} per device{}", flags_text(change), bytes_text(bytes),
                     bytes_text(device_memory_bytes),
                     change.compiled_bytes ? "" : " by an estimate");
}

nlohmann::ordered_json to_json(const Change& change) {
  using Json = nlohmann::ordered_json;
  return {{"flags", change.flags},
          {"estimated_bytes", change.estimated_bytes},
          {"compiled_bytes", change.compiled_bytes ? Json(*change.compiled_bytes) : Json(nullptr)},
          {"fits", change.fits}};
}

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

namespace {

// Policies for all layers, as texts of SetRemat. The first keeps what recipes keep, but for results
// of attention by blocks.
std::string for_projections(std::string_view list) {
  return fmt::format("{{class: SaveNames, {}: [{}]}}", list, join(kept_projections().names, ", "));
}
const std::string kKeep = for_projections("names"), kOffload = for_projections("offload"),
                  kNothing = "SaveNothing";

// For changes that take away the scores of all queries and keys, of which compilers keep several.
constexpr double kScaleWithoutScores = 2;

Edits with(Edits edits, const Edits& more) {
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

class Search {
 public:
  Search(const ResolveRequest& request, const Trials& all)
      : request_(request), all_(all), batch_(all.batch()) {}

  std::vector<ChangeFamily> run() {
    const Edits none, blocks = all_.by_blocks(), sharded = {SetField{"mesh", "fsdp=-1"}};
    add_microbatches("microbatches", none);
    for (const std::string& policy : {kKeep, kOffload}) add("a remat policy", {all_.remat(policy)});
    if (may_shard_more()) add("parameters shared by all devices", sharded);
    if (!blocks.empty()) {
      add("attention and loss by blocks", blocks);
      add_microbatches("attention and loss by blocks", blocks);
      for (size_t i = families_.size(); i-- > 0 && families_[i].name.ends_with("by blocks");)
        families_[i].most_scale = kScaleWithoutScores;
    }
    for (const std::string& policy : {kKeep, kOffload, kNothing})
      add_microbatches("microbatches with a remat policy", with(blocks, {all_.remat(policy)}));
    if (may_shard_more()) {
      add_microbatches("microbatches with shared parameters", with(blocks, sharded));
      add_microbatches("microbatches with shared parameters",
                       with(with(blocks, sharded), {all_.remat(kNothing)}));
    }
    if (batch_.rows > 0) {
      families_.push_back({"fewer rows", [this](double scale) { return fewer_rows(scale); }});
      families_.push_back({.name = "shorter rows",
                           .smallest = [this](double scale) { return shorter_rows(scale); },
                           .most_scale = kScaleWithoutScores});
    }
    families_.push_back({"more devices", [this](double scale) { return more_devices(scale); }});
    return std::move(families_);
  }

 private:
  bool may_shard_more() const {
    return all_.mesh().num_devices() > 1 && all_.mesh().size("fsdp") < all_.mesh().num_devices();
  }

  void add(const std::string& name, const Edits& edits) {
    families_.push_back({name, [=, this](double) { return all_.trial(edits); }});
  }

  // The fewest microbatches that may fit; if none do, the most that there can be.
  void add_microbatches(const std::string& name, const Edits& edits) {
    if (batch_.rows == 0 || whole_number(all_.config(), "learner.microbatches") == 0) return;
    families_.push_back({name, [=, this](double scale) { return in_microbatches(edits, scale); }});
  }
  std::optional<Trial> in_microbatches(const Edits& edits, double scale) const {
    std::vector<int64_t> counts = finer_microbatches(batch_);
    const auto trial_of = [&](int64_t n) {
      const auto [field, value] = microbatch_field(all_.config(), batch_, n);
      return all_.trial(with(edits, {SetField{field, std::to_string(value)}}));
    };
    std::optional<Trial> best;
    // Layers may refuse microbatches of few rows.
    while (!counts.empty() && !(best = trial_of(counts.back()))) counts.pop_back();
    if (!best || !all_.may_fit(*best, scale)) return best;
    size_t low = 0, high = counts.size() - 1;  // all from `high` on may fit
    while (low < high) {
      const size_t middle = (low + high) / 2;
      auto one = trial_of(counts[middle]);
      if (one && all_.may_fit(*one, scale)) {
        high = middle;
        best = std::move(one);
      } else {
        low = middle + 1;
      }
    }
    return best;
  }

  std::optional<Trial> fewer_rows(double scale) const {
    std::optional<Trial> last;
    for (int halvings = 1; axle::fewer_rows(batch_, halvings) > 0; ++halvings) {
      const int64_t rows = axle::fewer_rows(batch_, halvings);
      Edits edits = {SetField{"input.batch_size", std::to_string(rows)}};
      if (whole_number(all_.config(), "learner.microbatches") > rows / batch_.shares)
        edits.push_back(SetField{"learner.microbatches", "1"});
      if (auto one = all_.trial(edits)) last = std::move(one);
      if (last && all_.may_fit(*last, scale)) break;
    }
    return last;
  }

  std::optional<Trial> shorter_rows(double scale) const {
    constexpr int64_t kShortest = 512;
    std::optional<Trial> last;
    const int64_t whole = whole_number(all_.config(), "input.seq_len");
    for (int64_t length = whole / 2; length >= kShortest; length /= 2) {
      if (auto one = all_.trial({SetField{"input.seq_len", std::to_string(length)}}))
        last = std::move(one);
      if (last && all_.may_fit(*last, scale)) break;
    }
    return last;
  }

  // More devices of the kind, with the mesh rule of that machine.
  std::optional<Trial> more_devices(double scale) const {
    const Accelerator& kind = all_.target().accelerator;
    std::optional<Trial> last;
    for (int times = 2; times <= 64; times *= 2) {
      try {
        const int64_t count = all_.target().num_devices() * kind.cores_per_device * times;
        const Target larger = parse_target(fmt::format("{}-{}", kind.machine_prefix, count));
        ResolveRequest request = request_;
        request.machine = larger.machine();
        const Trainer::Config config = resolve_config(request).config;
        auto one = all_.trial({}, config, larger);
        // With as many rows of a device at once as here, if that rule leaves it more.
        const int64_t microbatches = batch_.count / times;
        const Microbatches there =
            train_microbatches(config, infer_mesh(config.mesh, larger.num_devices()));
        if (microbatches > there.count && (!one || !all_.may_fit(*one, scale))) {
          const auto [field, value] = microbatch_field(config, there, microbatches);
          if (value > 0) one = all_.trial({SetField{field, std::to_string(value)}}, config, larger);
        }
        if (!one) continue;
        one->change.flags.insert(one->change.flags.begin(), "--on " + larger.machine());
        last = std::move(one);
        if (all_.may_fit(*last, scale)) break;
      } catch (const ConfigError&) {
        continue;  // there is no machine of this size
      }
    }
    return last;
  }

  const ResolveRequest& request_;
  const Trials& all_;
  Microbatches batch_;
  std::vector<ChangeFamily> families_;
};

}  // namespace

std::vector<ChangeFamily> change_families(const ResolveRequest& request, const Trials& trials) {
  // The families refer to the search, which therefore lives as long as they do.
  const auto search = std::make_shared<Search>(request, trials);
  std::vector<ChangeFamily> out = search->run();
  for (ChangeFamily& family : out)
    family.smallest = [search, inner = std::move(family.smallest)](double s) { return inner(s); };
  return out;
}

}  // namespace axle
