// axle checkpoint ls DIR: the checkpoints of a run, and the tensors of one of them.
#include <CLI/CLI.hpp>

#include "cli/arguments/model_arguments.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

struct LsOptions {
  CheckpointArguments checkpoint;
  bool verify = false;
};

}  // namespace

const Verb<LsOptions> checkpoint_ls({
    .name = "checkpoint ls",
    .help = "List the checkpoints of a folder and the tensors of one: shape, dtype, bytes",
    .add =
        [](CLI::App& app, LsOptions& options, Output& out) {
          options.checkpoint.add_to(app);
          app.add_flag(
              "--verify", options.verify,
              "Read all data and compare their checksums (default: only their sizes); exit 4 if a "
              "checkpoint is damaged");
          out.add_json_flag(app);
        },
    .run =
        [](const LsOptions& options, Output& out) {
          const auto check = options.verify ? DamageCheck::kBytes : DamageCheck::kSizes;
          const CheckpointListing listing = list_checkpoint(options.checkpoint.selection(), check);
          out.report(listing);
          const bool is_good = listing.damaged.empty() || !options.verify;
          return is_good ? ExitCode::kOk : ExitCode::kStorage;
        },
});

}  // namespace axle::cli
