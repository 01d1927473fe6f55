// axle checkpoint ls DIR: the checkpoints of a run, and the tensors of one of them.
#include "cli/arguments/checkpoint_arguments.h"
#include "cli/verb.h"

namespace axle::cli {

const Verb<CheckpointArguments> checkpoint_ls({
    .name = "checkpoint ls",
    .help = "List the checkpoints of a folder and the tensors of one: shape, dtype, bytes",
    .add =
        [](CLI::App& app, CheckpointArguments& checkpoint, Output& out) {
          checkpoint.add_to(app);
          out.add_json_flag(app);
        },
    .run =
        [](const CheckpointArguments& checkpoint, Output& out) {
          out.report(list_checkpoint(checkpoint.selection()));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
