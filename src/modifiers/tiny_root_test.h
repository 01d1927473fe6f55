// A small config tree for the tests of modifiers: a model of one block, a mesh and a step count.
#pragma once

#include "config/document/print.h"
#include "config/register.h"
#include "layers/blocks/stacked.h"
#include "layers/models/causal_lm.h"
#include "modifiers/modifier.h"

namespace axle {

/// A config tree like that of a trainer.
struct TinyRoot {
  Child<Model> model = CausalLM::Config{
      .decoder = Decoder::Config{
          .model_dim = 8,
          .vocab_size = 16,
          .layers = Stacked::Config{
              .num_layers = 1,
              .layer = TransformerLayer::Config{
                  .attention = PreNorm::Config{.body = Attention::Config{.num_heads = 2}}}}}};
  Mesh mesh = {};
  int64_t max_steps = 10;
  AXLE_CONFIG(TinyRoot, model, mesh, max_steps)
};

/// Returns the changes that the modifier makes to a fresh tree (see diff).
inline std::string changes_by(const Child<Modifier>& modifier) {
  const TinyRoot before;
  TinyRoot after;
  modifier.build({}, Scope{})->apply(after);
  return diff(before, after);
}

}  // namespace axle
