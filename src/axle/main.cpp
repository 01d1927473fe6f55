// The program: all verbs, with the layers and recipes of the library.
#include "axle/huge_pages.h"
#include "cli/run_cli.h"
#include "guard/plugin_end_guard.h"

int main(int argc, char** argv) {
  axle::enable_huge_pages(argv);
  axle::install_plugin_end_guard();
  return axle::run_cli(argc, argv);
}
