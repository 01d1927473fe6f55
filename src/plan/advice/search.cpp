#include "plan/advice/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/find_slot.h"
#include "nn/remat_policies.h"

namespace axle {
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
    families_.push_back({name, [=, this](double scale) { return in_parts(edits, scale); }});
  }
  std::optional<Trial> in_parts(const Edits& edits, double scale) const {
    std::vector<int64_t> counts = finer_parts(batch_);
    const auto trial_of = [&](int64_t n) {
      const auto [field, value] = field_of_parts(all_.config(), batch_, n);
      return all_.trial(with(edits, {SetField{field, std::to_string(value)}}));
    };
    std::optional<Trial> best;
    // Layers may refuse parts of few rows.
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
        const int64_t parts = batch_.parts / times;
        const BatchParts there = batch_parts(config, infer_mesh(config.mesh, larger.num_devices()));
        if (parts > there.parts && (!one || !all_.may_fit(*one, scale))) {
          const auto [field, value] = field_of_parts(config, there, parts);
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
  BatchParts batch_;
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
