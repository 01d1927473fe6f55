// Axle as a library: the headers that another project needs for its own layers, its recipes and a
// program with all verbs.
//
//   #include <axle/axle.h>
//   int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
#pragma once

#include "cli/run_cli.h"
#include "config/config.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "layers/attention/attention.h"
#include "layers/attention/rope.h"
#include "layers/blocks/pre_norm.h"
#include "layers/blocks/repeat.h"
#include "layers/blocks/stacked.h"
#include "layers/blocks/transformer_layer.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/linear.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/layer_norm.h"
#include "layers/norms/rms_norm.h"
#include "learn/adamw.h"
#include "learn/clip_by_global_norm.h"
#include "learn/sgd.h"
#include "modifiers/set_mesh.h"
#include "modifiers/set_remat.h"
#include "ops/ops.h"
#include "recipes/language_model.h"
#include "train/trainer.h"
#include "transform/custom_vjp.h"
