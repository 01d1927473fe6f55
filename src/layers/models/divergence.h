// Divergences between the predictions of two models.
//
// Letters in tensor names, for this file only:
//   V vocabulary
#pragma once

#include "config/axle_config.h"
#include "config/fields/fn.h"
#include "ir/tensor.h"

namespace axle {

/// The predictions of a student and its teacher: log probabilities f32[..., V].
struct Predictions {
  Tensor student, teacher;
};
/// Returns the divergence of each token, f32[...]; 0 for equal predictions, else positive.
using Divergence = Fn<Tensor(const Predictions& log_probs)>;

/// KL(teacher || student) = sum(t * (log(t) - log(s))): the student covers all that the teacher
/// finds likely.
///
/// Source: Hinton et al. 2015, arXiv 1503.02531, section 2.
struct ForwardKL {
  Tensor operator()(const Predictions& log_probs) const;
  AXLE_CONFIG(ForwardKL)
};

/// KL(student || teacher) = sum(s * (log(s) - log(t))): the student avoids what the teacher finds
/// unlikely.
///
/// Source: Gu et al. 2024, "MiniLLM", arXiv 2306.08543, section 2.
struct ReverseKL {
  Tensor operator()(const Predictions& log_probs) const;
  AXLE_CONFIG(ReverseKL)
};

}  // namespace axle
