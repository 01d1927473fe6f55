// Compiles a StableHLO text for a target, and prints a line of JSON: seconds, bytes per device,
// collectives. The text may come from another framework: its program is then compiled by the same
// compiler with the same settings.
//
//   compile_text TARGET FILE MESH        compile_text gpu:h100:16x8 step.mlir fsdp=128
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process_start.h"
#include "hlo/collectives.h"
#include "io/file.h"
#include "pjrt/compiler.h"

namespace axle {
namespace {

void run(const std::string& on, const std::string& file, const std::string& axes) {
  Program program{.name = "step", .text = read_file(file)};
  from_text(axes, program.mesh);
  const auto compiler = make_compiler(parse_target(on));
  const auto start = Clock::now();
  const auto compiled = compiler->compile(program);
  const double seconds = seconds_since(start);
  const MemoryStats memory = compiled->memory().value();
  const auto all = collectives(read_hlo_module(compiled->optimized_program()), program.mesh);
  double bytes = 0;
  for (const Collective& c : all) bytes += static_cast<double>(c.bytes * c.count);
  std::cout << nlohmann::json{{"compile_seconds", seconds},
                              {"temporary_bytes", memory.temporary_bytes},
                              {"argument_bytes", memory.argument_bytes},
                              {"needed_bytes", memory.total_bytes() - memory.code_bytes},
                              {"peak_bytes", memory.peak_bytes},
                              {"collective_bytes", bytes},
                              {"compiler_cost", compiled->cost_analysis()}}
                   .dump()
            << std::endl;
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: compile_text TARGET FILE MESH\n";
    return 2;
  }
  try {
    axle::run(argv[1], argv[2], argv[3]);
  } catch (const axle::Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
