// The program: all verbs, with the layers and recipes of the library.
#include "axle/huge_pages.h"
#include "cli/run_cli.h"

int main(int argc, char** argv) {
  axle::enable_huge_pages(argv);
  return axle::run_cli(argc, argv);
}
