// What the modifier MuP finds out about a config before it sets anything.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/find_slot.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "train/mup/mup_scales.h"

namespace axle {

/// What a mistake of the order says.
inline constexpr const char* kMuPOrder =
    "flags apply from left to right, and in a file 'set' comes after 'modify', where SetFields can "
    "stand before MuP";

/// Returns the model of a trainer's config. Throws ConfigError if it is another config.
Child<Model>& model_of(ConfigRef root);
/// Returns the learner of a trainer's config. Throws NoMatch if it is none of class Learner.
Learner::Config& learner_of(ConfigRef root);
/// Returns the slot at the path of a layer; none if the layer has no slot with its name.
std::optional<Slot> slot_at(ConfigRef root, const std::string& path);
/// Returns the parameters of a model, by path.
Tree<ParamSpec> specs_of(const Child<Model>& model);
/// Returns the factor of the queries of a core; nullptr if the tree has no such slot.
const std::optional<Positive<double>>* find_scale(ConfigRef root, const std::string& path);

/// Returns the fields of the model and of the learner that must be set and are not.
std::vector<std::string> unset_parts(ConfigRef root);
/// Returns the path with "layer" in place of the names of a Stacked's layers, "layer0", "layer1":
/// they share this slot.
std::string path_of_shared_slot(const std::string& path);

/// The factor of the queries of a core whose heads grow: q k / head dim in place of
/// q k / sqrt(head dim).
struct MuPLogitScale {
  std::string layer;
  std::string field;  // empty: the layer has no slot with its name
  int64_t base_dim, head_dim;
  double growth() const { return static_cast<double>(head_dim) / static_cast<double>(base_dim); }
};

/// A table of embeddings.
struct MuPTable {
  std::string layer;   // its path in the config
  double vectors = 1;  // growth of the factor of its vectors
  double logits = 1;   // factor of its logits; 1 if it is no head
  bool is_head = false;
};

/// What MuP sets, and what of the model it follows from.
struct MuPFindings {
  Tree<ParamSpec> specs = {};
  Tree<UpdateSize> updates = {};
  MuPScales scales = {};
  std::map<std::string, MuPTable> tables = {};
  std::vector<MuPLogitScale> logits = {};
};

/// Finds what MuP sets for the base model with these fields. What MuP has set itself changes
/// nothing of it. `where` names the fields in errors. Throws as MuP::apply() does.
MuPFindings find_mup(ConfigRef root, const std::map<std::string, std::string>& fields,
                     const char* where);

}  // namespace axle
