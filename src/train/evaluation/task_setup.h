// What the tasks of a training run need, made before its first step and without devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/config/trainer_config.h"

namespace axle {

struct TaskSetup {
  std::vector<Task> tasks;
  std::unique_ptr<Tokenizer> tokenizer;
  TaskModelOptions options;  // without a mesh
};

/// Returns the tasks of the evaler of this name. Throws one error with a line for each file with a
/// mistake.
std::vector<Task> read_tasks(const TaskEvaler::Config& cfg, const std::string& name);

/// Reads the tasks and makes their questions, in tokens of `model`, that of `run`. Throws one error
/// with a line for each mistake: a name that an evaler of the run has, no tokenizer, no average to
/// evaluate, files that are no tasks, bad documents, and texts that the model can't take.
TaskSetup set_up_tasks(const TaskEvaler::Config& cfg, const std::string& name,
                       const Trainer::Config& run, const Model& model);

/// Traces the programs of the tasks on the mesh. Throws what the layers of the model say of them,
/// naming the evaler.
void trace_tasks(const TaskSetup& setup, const std::string& name, Model& model, const Mesh& mesh);

}  // namespace axle
