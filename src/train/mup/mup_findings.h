// The maximal update parametrisation: learning rates and initial weights that stay right when a
// model becomes wider, and what the modifier MuP finds out about a config before it sets anything.
//
// Letters, for this file only: growths of the inputs (n) and the outputs (m) of a weight.
//
// Source: Yang et al. 2022, arXiv 2203.03466, table 3 (SGD and Adam); Yang et al. 2023, arXiv
// 2310.17813, section 2 (updates of known singular values).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree.h"
#include "config/walk.h"
#include "layers/models/model.h"
#include "learn/learner.h"
#include "learn/optimizer.h"
#include "nn/param.h"

namespace axle {

/// A model, and how large the updates of its trained parameters are, as far as that is known.
struct MuPModel {
  Tree<ParamSpec> specs;
  Tree<UpdateSize> updates;
};

/// The factors by which a wide model differs from its base model.
struct MuPScales {
  /// The weights whose inputs grow, and n.
  Tree<double> inputs;
  /// Of the learning rate, by the path of the parameter. Parameters whose factor is 1 are left out.
  ///   kElements: 1 / n. kGradient: m / n, for vectors m. kParameter: 1 / n, divided by the growth
  ///   of the initial weights. kSpectral: the growth of sqrt(R C) / (n gain), for matrices of R
  ///   rows and C columns.
  Tree<double> learning_rate;
  /// Of the variance of the initial weights, besides that of the initialiser's fan. Together they
  /// give 1 / n for hidden weights, the square of it for weights whose outputs do not grow, and 1
  /// for weights whose inputs do not grow. Weights whose factor is 1, and those without a
  /// VarianceScaling with a fan, are left out.
  Tree<double> init_variance;
};

/// Compares the parameters of two models of the same family. Throws ConfigError, naming `where`, if
/// they do not have the same parameters but for the sizes of their dims.
MuPScales mup_scales(const MuPModel& base, const MuPModel& wide, std::string_view where);

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
std::vector<std::string> unset_fields(ConfigRef root);
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
