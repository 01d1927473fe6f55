// A small config tree for the tests of modifiers: a model of one block, a mesh and a step count.
#pragma once

#include "config/print.h"
#include "config/register.h"
#include "layers/blocks/stack.h"
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

/// Returns a fresh tree that the modifier has changed.
inline TinyRoot modified_by(const Child<Modifier>& modifier) {
  TinyRoot root;
  modifier.build({}, Scope{})->apply(root);
  return root;
}

/// Returns the changes that the modifier makes to a fresh tree (see diff).
inline std::string changes_by(const Child<Modifier>& modifier) {
  return diff(TinyRoot{}, modified_by(modifier));
}

}  // namespace axle
