// Axle as a library: the headers that another project needs for its own layers, kernels and
// recipes, and a program with all verbs.
//
//   #include <axle/axle.h>
//   int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
//
// layers.h, learn.h and modifiers.h include all of their folders. They are written when Axle is
// built (cmake/axle_umbrella.cmake).
#pragma once

#include "cli/run_cli.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/register.h"
#include "config/set.h"
#include "data/data.h"
#include "layers/layers.h"
#include "learn/learn.h"
#include "modifiers/modifiers.h"
#include "ops/kernels/kernel.h"
#include "ops/ops.h"
#include "recipes/language_model.h"
#include "recipes/recipe.h"
#include "train/trainer.h"
#include "transform/transform.h"
