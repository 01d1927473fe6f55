// The header for tests of a project's own layers: AXLE_LAYER_LAWS, and calls of a layer with chosen
// parameters. It needs GoogleTest, which the CMake function axle_test of the package `axle` links.
#pragma once

#include "testing/layer_laws.h"
