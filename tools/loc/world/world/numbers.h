// What an experiment computes, on the interpreter.
#pragma once

#include <map>
#include <string>

#include "world/experiment.h"

/// Every number that an experiment computes, by name: the state after one training step from seed
/// 0, the metrics of the step, and the state after a prompt and one more token of decoding.
axle::Tree<axle::HostTensor> numbers_of(const Experiment& experiment);

/// Number of ops of each kind in the program that evaluates the model, loops and branches included.
std::map<std::string, int64_t> op_counts(const Experiment& experiment);
