// Training of a model, the student, to predict what a larger one, the teacher, predicts.
//
// Source: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", arXiv 1503.02531,
// section 2.
#pragma once

#include "layers/models/beside_frozen.h"
#include "layers/models/divergence.h"

namespace axle {

/// Trains the student on hard_weight * cross_entropy + soft_weight * temperature^2 * divergence,
/// plus its own further losses. The divergence is that of the two predictions at this temperature,
/// a mean over the targets. If the student computes its losses by chunks of positions, the logits
/// of the teacher are computed by the same chunks.
///
/// The teacher is never changed. Its parameters are state of this layer: they have no gradient and
/// no optimizer state, and a checkpoint of the run holds them. They are stored and computed with in
/// the dtype of the teacher's slot (teacher.@dtype), whatever the compute dtype of the run. A new
/// run takes them from a run of the teacher (Model::frozen_models). Evaluation, decoding and the
/// export of parameters see the student alone.
///
/// Parameters: student/.... State: teacher/... and the state of the student.
/// Metrics: those of the student; in training "distillation", the mean divergence.
/// Throws ConfigError at construction if the vocabularies differ, or if both weights are 0.
class Distillation final : public BesideFrozen {
 public:
  struct Config {
    /// The model that is trained.
    Child<Model> student = default_model();
    /// The model whose predictions it learns.
    Child<Model> teacher = {};
    /// How predictions are compared.
    Divergence divergence = ForwardKL{};
    /// Divides the logits of both models before they are compared.
    Positive<double> temperature = 1;
    /// Weight of the cross entropy with the targets.
    NonNegative<double> hard_weight = 0.5;
    /// Weight of the divergence from the teacher.
    NonNegative<double> soft_weight = 0.5;
    AXLE_CONFIG(Distillation, student, teacher, divergence, temperature, hard_weight, soft_weight)
  };
  Distillation(const Config& cfg, const Dims&, const Scope& scope);

 protected:
  ModelOutput forward_beside(const Tree<Tensor>& batch) override;

 private:
  Divergence divergence_;
  double temperature_, hard_weight_, soft_weight_;
};

}  // namespace axle
