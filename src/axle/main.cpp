// The program: all verbs, with the layers and recipes of the library.
#include "cli/run_cli.h"

int main(int argc, char** argv) { return axle::run_cli(argc, argv); }
