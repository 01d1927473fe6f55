#include "interop/families/layer_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "layers/blocks/pattern.h"
#include "layers/blocks/repeat.h"
#include "layers/blocks/stacked.h"

namespace axle {
namespace {

constexpr std::string_view kLayers = "decoder/layers/", kLayer = "decoder/layers/layer/";

size_t period_of(const std::vector<size_t>& kinds) {
  for (size_t period = 1; period < kinds.size(); ++period) {
    if (std::equal(kinds.begin() + static_cast<std::ptrdiff_t>(period), kinds.end(), kinds.begin()))
      return period;
  }
  return kinds.size();
}

}  // namespace

LayerKinds::LayerKinds(std::vector<size_t> kinds) : kinds_(std::move(kinds)) {
  AXLE_CHECK(!kinds_.empty(), "a model without layers");
  period_ = period_of(kinds_);
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (i == 0 || kinds_[i] != kinds_[i - 1]) runs_.push_back({.first = i});
    ++runs_.back().count;
  }
}

Child<Block> LayerKinds::stack(const std::vector<Child<Block>>& layers) const {
  const auto loop = [&](const Run& run) {
    return Repeat::Config{.num_layers = static_cast<int64_t>(run.count),
                          .layer = layers.at(kinds_[run.first])};
  };
  if (runs_.size() == 1) return loop(runs_[0]);
  if (repeats_pattern()) {
    Pattern::Config out{.num_layers = static_cast<int64_t>(kinds_.size())};
    for (size_t i = 0; i < period_; ++i) out.pattern.push_back(layers.at(kinds_[i]));
    return out;
  }
  Stacked::Config out{.num_layers = static_cast<int64_t>(runs_.size()), .layer = {}};
  for (const Run& run : runs_) out.layers.push_back(loop(run));
  return out;
}

std::vector<LayerKinds::Place> LayerKinds::places() const {
  std::vector<Place> out;
  if (!repeats_pattern()) {
    for (size_t i = 0; i < runs_.size(); ++i) {
      const std::string run = runs_.size() == 1 ? "" : fmt::format("layer{}/", i);
      out.push_back({.ours = fmt::format("{}{}layer/", kLayers, run),
                     .kind = kinds_[runs_[i].first],
                     .first_layer = static_cast<int64_t>(runs_[i].first)});
    }
    return out;
  }
  for (size_t i = 0; i < period_; ++i) {
    out.push_back({.ours = fmt::format("{}groups/layer/layer{}/", kLayers, i),
                   .kind = kinds_[i],
                   .first_layer = static_cast<int64_t>(i),
                   .stride = static_cast<int64_t>(period_)});
  }
  const size_t num_grouped = kinds_.size() / period_ * period_;
  for (size_t i = num_grouped; i < kinds_.size(); ++i) {
    out.push_back({.ours = fmt::format("{}rest/layer{}/", kLayers, i - num_grouped),
                   .kind = kinds_[i],
                   .first_layer = static_cast<int64_t>(i),
                   .is_stacked = false});
  }
  return out;
}

std::vector<WeightRow> LayerKinds::rows(const std::vector<std::vector<WeightRow>>& rows) const {
  std::vector<WeightRow> out = rows.at(0);
  std::erase_if(out, [](const WeightRow& row) { return row.ours.starts_with(kLayers); });
  for (const Place& place : places()) {
    for (WeightRow row : rows.at(place.kind)) {
      if (!row.ours.starts_with(kLayer)) continue;
      row.ours.replace(0, kLayer.size(), place.ours);
      if (place.is_stacked) {
        row.first_layer = place.first_layer;
        row.layer_stride = place.stride;
      } else {
        constexpr std::string_view kNumber = "{layer}";
        row.theirs.replace(row.theirs.find(kNumber), kNumber.size(),
                           std::to_string(place.first_layer));
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace axle
