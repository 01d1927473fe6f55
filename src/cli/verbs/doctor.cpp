// axle doctor: what this machine has, what it lacks, and how to get that.
#include "inspect/doctor.h"

#include "cli/output.h"

namespace axle::cli {
namespace {

struct DoctorOptions {};

}  // namespace

const Verb<DoctorOptions> doctor({
    .name = "doctor",
    .help = "Report plugins, devices, processor, memory, and what is missing",
    .add = [](CLI::App& app, DoctorOptions&, Output& out) { out.add_json_flag(app); },
    .run =
        [](const DoctorOptions&, Output& out) {
          const DoctorReport report = examine_machine();
          out.report(report);
          return report.problems.empty() ? ExitCode::kOk : ExitCode::kDevice;
        },
});

}  // namespace axle::cli
