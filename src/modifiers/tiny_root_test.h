// A small tree for the tests of modifiers: a model of one block and what stands beside it.
#pragma once

#include "config/document/print.h"
#include "config/register.h"
#include "layers/blocks/stacked.h"
#include "layers/models/causal_lm.h"
#include "modifiers/modifier.h"

namespace axle {

/// What a modifier rewrites, as a trainer's config is.
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

/// What the modifier changes in a fresh tree (see diff).
inline std::string changes_by(const Child<Modifier>& modifier) {
  const TinyRoot before;
  TinyRoot after;
  modifier.build({}, Scope{})->apply(after);
  return diff(before, after);
}

}  // namespace axle
